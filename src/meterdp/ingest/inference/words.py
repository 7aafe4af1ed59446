"""Words in names of columns, in the languages of the exports we know, as regular expressions."""

# Of meters, the nearer ones first: the point of supply keeps its id when the device is replaced.
POINT = (
    r"nmi|mpan|mprn|mpxn|lclid|esi ?id|\bean\b|messpunkt|messlok|målepunkt|malepunkt|anläggning|cups"
    r"|\bpod\b|\bprm\b|\bpdl\b|\bppe\b|\bcpe\b|\bicp\b|punto|ponto|特定番号"
)
# Of a home, which a column of meters should not hide; too short to choose a column by.
ALSO_POINT = r"(?<![^\W_])malo(?:[\W_]*(?:id|nr|nummer))?(?![^\W_])|marktlokation"
METER_FIRST = rf"{POINT}|meter|zähl|zaehl|mittaus|compteur|contador|medidor|contatore|licznik"
CONSUMER = r"(?:consum(?:er|idor|ator)|consommateur)"
# The number of a consumer, or their name for a connection; not a class of consumers.
CONSUMER_ID = rf"{CONSUMER}a?[\W_]*(?:n|no|num|number|nr|n[°º]|id|code)?[\W_]*$"
METER_NEXT = (
    r"obis|customer|household|home|account|device|serial|premise|service.?point|site|house|installation|data_?id"
    rf"|\bid\b|_id|id$|contra[tc]|{CONSUMER_ID}"
)
METER = f"{METER_FIRST}|{METER_NEXT}"
ENERGY = (
    rf"kwh|wh\b|watt.?hour|energ|énerg|(?!{CONSUMER})(?:consum|conso)|usage|\buse\b|used|reading|value|import|delivered|load|demand|power|kw|grid"
    r"|verbrauch|bezug|wert|valeur|puissance|prelievo|potenza|mængde|förbruk|forbruk|kulutus|määrä|volume"
    r"|verbruik|afname|pobór|wartość|使用量|電力"
)
TIME = r"time|date|stamp|start|begin|from|interval|period|zeit|datum|von|tid|fecha|data|horo"
# "_" is no letter, as it separates words; "dato" is a date.
_WORD = r"(?<![^\W_])(?:{})(?![^\W_])"
# What a column may be called that counts up, where no readings tell; after one of energy also "total".
COUNTER = r"cumul|regist|index|reading|counter|zählerstand|lectura|lettura|odczyt"
START = rf"start|begin|from|desde|d[ée]but|alku|inizio|início|fra_?dato|{_WORD.format('von|fra|från|van|od')}"
END = (
    r"(?<![^\W_])end|end$|until|(?<!da)to$|finish|til_?dato|hasta|loppu"
    rf"|{_WORD.format('ende|bis|til|till|tot|fine?')}"
)
NOT_OF_READING = r"revis|creat|insert|updat|modif|extract|upload|received|process|published"
UTC_NAME = r"utc|(?<![a-z])gmt|zulu"
CIRCUIT = r"circuit|feeder|transformer|substation"
# In a list of meters, which has no readings from the net ("Netzbezug").
STATION = rf"{CIRCUIT}|station|trafo|netz|poste|centro|abgang|strang"
UNIT = r"unit|uom|einheit|enhe[dt]|eenheid|yksik|jednot|unidad|jednostka"
# Energy that a home gives to the grid or makes.
FEED_IN = (
    r"export|feed.?in|fed.?in|generation|generated|solar|pv|received|returned|surplus|excedent|inje|inye|verti|immess"
    r"|immiss|produ[ck]tion|produ[cz]ione|producción|produkcja|einspeis|eingespeis|r(?:ü|ue)ckliefer|teruglever"
    r"|teruggelever|invoed|inmat|innmat|tuotan|oddan|wprowadz|逆潮流"
)
# In kVAh or kvarh; "kvart" is a quarter.
NOT_ACTIVE = (
    r"kvar(?!t)|kvah|kva(?![^\W_])|(?<![^\W_])var?h(?![^\W_])|app?arent|rea[ckt]?tiv|blindarbeit|scheinarbeit"
)
OTHER_NUMBER = (
    rf"{FEED_IN}|{NOT_ACTIVE}|temp|price|cost|tariff|volt|current|amp|latitude|longitude|factor|status"
    r"|quality|flag|code|frequency|postcode|\bzip\b"
)
REGISTER = r"register|channel|kanal|obis|direction|flow"
PART_OF_METER = rf"{REGISTER}|circuit|category|type|tari"
