"""From rows of the database to values: what is asked, and how sorted rows are merged into items."""
