"""The pages for people, and the overview of a set that they show."""
