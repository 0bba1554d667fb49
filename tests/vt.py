"""A terminal that is only a screen: what a program writes to it, as rows of characters. Sequences that it does not know
are errors, so that a test notices when a program asks for more than it is known to ask for."""
import re

SEQUENCE = re.compile(r"\x1b\[([?>]?)([0-9;]*)([@-~])")


class Screen:
    def __init__(self, rows, columns):
        self.row = self.column = 0
        self.saved = 0, 0
        self.wrap = False          # the last column was written: the next character goes to a new row
        self.cursor_shown, self.alternate = True, False
        self.colours = 0           # times that a colour was chosen
        self.rest, self.last = "", " "
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.top, self.bottom = 0, rows - 1
        self.row, self.column = min(self.row, rows - 1), min(self.column, columns - 1)

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.lines()).rstrip("\n") + "\n"

    def feed(self, text):
        text = self.rest + text
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                used = self.escape(text, at)
                if not used:
                    break
                at += used
            else:
                self.character(text[at])
                at += 1
        self.rest = text[at:]

    def character(self, c):
        if c == "\r":
            self.column, self.wrap = 0, False
        elif c == "\n":
            self.line_feed()
        elif c == "\b":
            self.column, self.wrap = max(0, self.column - 1), False
        elif c in "\x07\x0e\x0f\x00":
            pass
        elif ord(c) < 32:
            raise ValueError("control character %r" % c)
        else:
            if self.wrap:
                self.column = 0
                self.line_feed()
            self.cells[self.row][self.column] = self.last = c
            self.wrap = self.column == self.columns - 1
            self.column = min(self.column + 1, self.columns - 1)

    def line_feed(self):
        self.wrap = False
        if self.row == self.bottom:
            self.scroll(1)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def scroll(self, count):
        for _ in range(abs(count)):
            if count > 0:
                del self.cells[self.top]
                self.cells.insert(self.bottom, [" "] * self.columns)
            else:
                del self.cells[self.bottom]
                self.cells.insert(self.top, [" "] * self.columns)

    def escape(self, text, at):
        """Length of the sequence that begins here; 0 when it is not all there yet."""
        if len(text) - at < 2:
            return 0
        second = text[at + 1]
        if second in "()":
            return 3 if len(text) - at >= 3 else 0
        if second == "M":
            if self.row == self.top:
                self.scroll(-1)
            else:
                self.row = max(0, self.row - 1)
            return 2
        if second == "7":
            self.saved = self.row, self.column
            return 2
        if second == "8":
            self.row, self.column = self.saved
            self.wrap = False
            return 2
        if second in "=>":
            return 2
        if second != "[":
            raise ValueError("escape %r" % text[at:at + 8])
        match = SEQUENCE.match(text, at)
        if not match:
            if len(text) - at > 64:
                raise ValueError("sequence %r" % text[at:at + 64])
            return 0
        self.control(match.group(1), [int(n or 0) for n in match.group(2).split(";")], match.group(3))
        return match.end() - at

    def control(self, mark, numbers, final):
        count = max(1, numbers[0])
        if final in "hl" or mark:
            self.mode(mark, numbers, final)
            return
        row, column = self.row, self.column
        if final == "m":
            self.colours += sum(1 for n in numbers if 30 <= n <= 38 or 40 <= n <= 48 or 90 <= n <= 107)
            return
        if final == "t":            # the title of the window is kept or given back
            return
        self.wrap = False
        if final in "Hf":
            row, column = count - 1, (max(1, numbers[1]) if len(numbers) > 1 else 1) - 1
        elif final in "ABCD":
            row += {"A": -count, "B": count}.get(final, 0)
            column += {"C": count, "D": -count}.get(final, 0)
        elif final == "G":
            column = count - 1
        elif final == "d":
            row = count - 1
        elif final == "r":
            self.top = count - 1
            self.bottom = (numbers[1] if len(numbers) > 1 and numbers[1] else self.rows) - 1
            row = column = 0
        else:
            self.edit(numbers[0], count, final)
        self.row = min(max(row, 0), self.rows - 1)
        self.column = min(max(column, 0), self.columns - 1)

    def edit(self, number, count, final):
        line = self.cells[self.row]
        blank = [" "] * self.columns
        if final == "K":
            begin, end = {0: (self.column, self.columns), 1: (0, self.column + 1), 2: (0, self.columns)}[number]
            line[begin:end] = blank[begin:end]
        elif final == "J":
            if number == 0:
                line[self.column:] = blank[self.column:]
            for row in range(0 if number else self.row + 1, self.rows):
                self.cells[row] = list(blank)
        elif final == "X":
            line[self.column:self.column + count] = blank[self.column:self.column + count]
        elif final == "P":
            line[self.column:] = (line[self.column + count:] + blank)[:self.columns - self.column]
        elif final == "@":
            line[self.column:] = ([" "] * count + line[self.column:])[:self.columns - self.column]
        elif final == "b":
            for _ in range(count):
                self.character(self.last)
        elif final in "LM":
            top, self.top = self.top, self.row
            self.scroll(count if final == "M" else -count)
            self.top = top
        elif final in "ST":
            self.scroll(count if final == "S" else -count)
        else:
            raise ValueError("sequence ending in %r" % final)

    def mode(self, mark, numbers, final):
        for number in numbers:
            if mark == "?" and number == 25:
                self.cursor_shown = final == "h"
            elif mark == "?" and number == 1049:
                self.alternate = final == "h"
