"""The audit: lower bounds on epsilon from what mechanisms give out, beside what they claim."""
