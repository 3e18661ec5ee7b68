"""Moodle's grading worksheet in German, French and Spanish; another language is refused by name."""

import pytest
from archives import LESSON, collect, moodle, solved, students, tree

CLASS = {"Jörg Müller_701521": solved("j"), "Zoë Lee_701522": solved("z")}
HEADERS = {
    "German": (
        'ID,"Vollständiger Name",ID-Nummer,E-Mail-Adresse,Status,Bewertung,Bestwertung,'
        '"Bewertung kann geändert werden","Zuletzt geändert (Abgabe)"',
        "Teilnehmer/in",
        "Sonntag, 29. November 2026, 18:30",
    ),
    "French": (
        'Identifiant,"Nom complet","Numéro d\'identification","Adresse de courriel",Statut,'
        'Note,"Note maximale","La note peut être modifiée","Dernière modification (travail remis)"',
        "Participant",
        "dimanche 29 novembre 2026, 18:30",
    ),
    "Spanish": (
        'Identificador,"Nombre completo","Número de ID","Dirección de correo",Estado,'
        'Calificación,"Calificación máxima","Se puede cambiar","Última modificación (entrega)"',
        "Participante",
        "domingo, 29 de noviembre de 2026, 18:30",
    ),
}


def sheet(place, language, ids=("s100", "s101")):
    header, participant, time = HEADERS[language]
    lines = [header]
    for (who, number), id_ in zip((key.split("_") for key in CLASS), ids, strict=True):
        email = f"{who[0].lower()}@example.org"
        lines.append(f'{participant}{number},{who},{id_},{email},x,,"110,00",x,"{time}"')
    (place / "sheet.csv").write_text("\n".join(lines), "utf-8-sig")
    return place / "sheet.csv"


@pytest.mark.parametrize("language", HEADERS)
def test_a_worksheet_in_the_platforms_language(course, tmp_path, capsys, language):
    (tmp_path / "all.zip").write_bytes(moodle(CLASS))
    options = ["--roster", str(sheet(tmp_path, language)), "--timezone", "Europe/Zurich"]
    assert collect(tmp_path / "all.zip", *options) == 0, capsys.readouterr().out
    assert students(course)["s100"] == ("Jörg", "Müller", "j@example.org")
    stamp = tree(course)[f"s101/{LESSON}/timestamp.txt"].read_text()
    assert stamp == "2026-11-29 17:30:00 UTC\n"


def test_an_id_is_made_of_the_address_where_there_is_no_id_number(course, tmp_path):
    (tmp_path / "all.zip").write_bytes(moodle(CLASS))
    options = ["--roster", str(sheet(tmp_path, "German", ids=("", ""))), "--timezone", "UTC"]
    assert collect(tmp_path / "all.zip", *options) == 0
    assert set(students(course)) == {"j", "z"}


def test_another_language_is_refused_by_name(course, tmp_path, capsys):
    (tmp_path / "all.zip").write_bytes(moodle(CLASS))
    text = "ID,Volledige naam,E-mailadres,Cijfer\nDeelnemer701521,J M,j@x.org,\n"
    text += "Deelnemer701522,Z L,z@x.org,\n"
    (tmp_path / "sheet.csv").write_text(text)
    assert collect(tmp_path / "all.zip", "--roster", str(tmp_path / "sheet.csv")) == 2
    assert "change Moodle's language to English and download it again" in capsys.readouterr().err
    assert not tree(course) and not students(course)


def test_ids_that_look_like_participants_are_ids(course, tmp_path):
    """A list of one's own has a column of names, which tells it from Moodle's."""
    (tmp_path / "all.zip").write_bytes(moodle(CLASS))
    text = "id,first_name,last_name,submitted\nstudent1,Jörg,Müller,2026-11-29\n"
    (tmp_path / "list.csv").write_text(text + "student2,Zoë,Lee,2026-11-29\n")
    assert collect(tmp_path / "all.zip", "--roster", str(tmp_path / "list.csv")) == 0
    assert set(students(course)) == {"student1", "student2"}
