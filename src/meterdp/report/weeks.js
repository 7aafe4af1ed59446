"use strict";
// The load of one household beside the mean of all, a week at a time.
(() => {
  const place = document.getElementById("weeks");
  if (!place) return;
  const {monday, minutes, series} = JSON.parse(document.getElementById("weeks-data").textContent);
  const slots = (7 * 24 * 60) / minutes;
  const read = ({low, step, data}) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    return Array.from(new Uint16Array(bytes.buffer), (whole) => (whole === 65535 ? null : low + whole * step));
  };
  const values = series.map(read);
  const weeks = values[0].length / slots;
  const hours = Array.from({length: slots}, (_, slot) => (slot * minutes) / 60);
  const who = place.querySelector("select"), which = place.querySelector("input"), said = place.querySelector("output");
  const chart = place.querySelector(".chart");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const day = (week, hour) => {
    const at = new Date(monday + "T00:00:00Z");
    at.setUTCMinutes(60 * (24 * 7 * week + hour));
    return at;
  };
  const words = (at, more) => at.toLocaleString("en-GB", {timeZone: "UTC", weekday: "short", day: "numeric", month: "short", ...more}).replace(",", "");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let plot = null;

  series.forEach(({name}, number) => who.add(new Option(name, number)));
  who.value = series.length > 1 ? 1 : 0;
  which.max = weeks - 1;
  // The first whole week: a period seldom begins on a Monday.
  which.value = Math.max(0, Array.from({length: weeks}, (_, week) => week).findIndex((week) => values[0].slice(week * slots, (week + 1) * slots).every((kw) => kw !== null)));

  const draw = () => {
    const home = Number(who.value), week = Number(which.value), shown = [0, ...(home ? [home] : [])];
    const part = (one) => values[one].slice(week * slots, (week + 1) * slots);
    const every = shown.flatMap((one) => values[one]).filter((kw) => kw !== null);
    const top = every.reduce((most, kw) => Math.max(most, kw), 0), low = every.reduce((least, kw) => Math.min(least, kw), 0);
    const soft = colour("--soft"), line = colour("--line");
    const axis = {stroke: soft, grid: {stroke: line, width: 1}, ticks: {show: false}, font: "12px system-ui, sans-serif"};
    plot?.destroy();
    plot = new uPlot({
      width: chart.clientWidth, height: 260,
      scales: {x: {time: false, range: [0, 168]}, y: {range: [1.05 * low, 1.05 * top || 1]}},
      axes: [
        {...axis, splits: () => [0, 1, 2, 3, 4, 5, 6].map((number) => 24 * number), values: (_, at) => at.map((hour) => words(day(week, hour))), align: 1},
        {...axis, label: "kW", labelFont: axis.font, size: 46},
      ],
      series: [
        {label: "Time", value: (_, hour) => (hour === null ? "–" : words(day(week, hour), {hour: "2-digit", minute: "2-digit"}))},
        ...shown.map((one) => ({
          label: series[one].name, width: one ? 1.5 : 2, stroke: colour(one ? "--blue" : "--soft"), dash: one ? [] : [6, 4],
          value: (_, kw) => (kw === null ? "–" : kw.toPrecision(3) + " kW"),
        })),
      ],
    }, [hours, ...shown.map(part)], chart);
    said.textContent = `${words(day(week, 0))} to ${words(day(week, 167), {year: "numeric"})}`;
  };
  const turn = (by) => {
    which.value = Number(which.value) + by;
    draw();
  };
  const point = (by) => {
    const at = plot.cursor.idx === null || plot.cursor.idx === undefined ? 0 : plot.cursor.idx + by;
    const hour = hours[Math.min(Math.max(at, 0), slots - 1)];
    plot.setCursor({left: plot.valToPos(hour, "x"), top: 20});
  };
  place.querySelector(".back").addEventListener("click", () => turn(-1));
  place.querySelector(".on").addEventListener("click", () => turn(1));
  who.addEventListener("change", draw);
  which.addEventListener("input", draw);
  chart.addEventListener("keydown", (event) => {
    const keys = {ArrowLeft: () => point(-1), ArrowRight: () => point(1), PageUp: () => turn(-1), PageDown: () => turn(1)};
    if (keys[event.key]) {
      keys[event.key]();
      event.preventDefault();
    }
  });
  dark.addEventListener("change", draw);
  addEventListener("beforeprint", () => plot.setSize({width: 640, height: 220}));
  addEventListener("afterprint", draw);
  place.hidden = false;
  new ResizeObserver(() => plot && plot.setSize({width: chart.clientWidth, height: 260})).observe(chart);
  draw();
})();
