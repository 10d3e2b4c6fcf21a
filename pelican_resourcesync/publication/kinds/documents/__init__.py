"""The documents of a publication, the HTML page, and what hosts need to make them known."""
