"""The ground: layout of a course, notebooks, names, test cells. Imports none of the others."""
