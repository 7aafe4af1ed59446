"""How close synthetic profiles come to real ones, and what they are good for."""
