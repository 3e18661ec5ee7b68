"""Read the columns of Moodle's grading worksheet in English, German, French and Spanish.

The names are those of Moodle's language packs (mod/assign/lang/XX/assign.php, lang/XX/moodle.php).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from proflab_course.course.layout import CourseError

_LANGUAGES = (
    {
        "id": "identifier",
        "vollständiger name": "full name",
        "id-nummer": "id number",
        "anmeldename": "username",
        "e-mail-adresse": "email address",
        "gruppe": "group",
        "bewertung": "grade",
        "bestwertung": "maximum grade",
        "bestbewertung": "maximum grade",
        "zuletzt geändert (abgabe)": "last modified (submission)",
    },
    {
        "identifiant": "identifier",
        "nom complet": "full name",
        "numéro d'identification": "id number",
        "nom d'utilisateur": "username",
        "adresse de courriel": "email address",
        "adresse e-mail": "email address",
        "groupe": "group",
        "note": "grade",
        "note maximale": "maximum grade",
        "dernière modification (travail remis)": "last modified (submission)",
    },
    {
        "identificador": "identifier",
        "nombre completo": "full name",
        "número de id": "id number",
        "nombre de usuario": "username",
        "dirección de correo": "email address",
        "correo electrónico": "email address",
        "grupo": "group",
        "calificación": "grade",
        "calificación máxima": "maximum grade",
        "última modificación (entrega)": "last modified (submission)",
    },
)
_ENOUGH = 3  # columns that identify a language
# The word in place of a name in anonymous grading, without characters that file names lack.
BLIND_NAMES = ("participant", "teilnehmerin", "teilnehmer", "participante")
_PARTICIPANT = re.compile(r"(\D{5,}?)\s*\d+")


def english_header(header: Sequence[str]) -> list[str]:
    """Return the columns' names in lower case and English.

    >>> english_header(["ID", "Vollständiger Name", "E-Mail-Adresse"])
    ['identifier', 'full name', 'email address']
    """
    names = [name.strip().lower().replace("’", "'") for name in header]
    for language in _LANGUAGES:
        known = [language[name] for name in names if name in language]
        if "identifier" in known and len(known) >= _ENOUGH:
            return [language.get(name, name) for name in names]
    return names


def refuse_unknown_language(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Raise CourseError if the first column lists Moodle's participants under an unknown name."""
    found = [_PARTICIPANT.fullmatch(row[0].strip()) for row in rows[1:] if row]
    if found and all(found) and len({match[1] for match in found if match}) == 1:
        raise CourseError(
            f"{path} seems to be Moodle's grading worksheet in a language that is not known here: "
            "change Moodle's language to English and download it again"
        )
