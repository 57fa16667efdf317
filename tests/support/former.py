"""Files as earlier versions wrote them."""

SUMMED = ("thread", "turn", "passage", "episode", "cluster", "member", "span")
# The statements that undo each step of the SQLite store's migrations.
STEPS = {
    5: (
        *(f"ALTER TABLE {table} DROP COLUMN crc" for table in SUMMED),
        "ALTER TABLE turn DROP COLUMN vector_crc",
    ),
    6: ("DROP TABLE line",),
    7: ("DROP TRIGGER sentence_of_turn", "DROP TABLE sentence"),
}


def undo(connection, first):
    """Undoes the steps of migrations from a number on."""
    for number in sorted(STEPS, reverse=True):
        if number >= first:
            for statement in STEPS[number]:
                connection.execute(statement)
            connection.execute("DELETE FROM migration WHERE number = ?", (number,))
