"""The times of whole profiles changed: starts and ends that meet exactly, calls of no length, other shares of time. Bounds that the profiles as
they were recorded, or made, never meet are met here, from both sides.

    paths = write(folder)                          # made programs, and the corpus of Kineto and Nsight Systems beside them
    for what, bytes in retimed(name, bytes): ...   # some of CHANGES, others for the next file
"""
import glob
import json
import os
import re
import sqlite3
import sys
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import answertraces  # noqa: E402
import mixedtraces  # noqa: E402

MAX_BYTES = 200000  # of a profile
EACH = 6  # changes of a profile


class Event:
    """A duration of any format: its place in time, the row it is on, and how work and its launch find each other."""

    def __init__(self, start, end, lane, number=None, is_device=False):
        self.start, self.end, self.lane, self.number, self.is_device = start, end, lane, number, is_device


def by_lane(events):
    lanes = {}
    for event in events:
        lanes.setdefault(event.lane, []).append(event)
    for row in lanes.values():
        row.sort(key=lambda event: (event.start, -event.end))
        yield row


def on_grid(events, share):
    lengths = sorted(event.end - event.start for event in events)
    step = max(lengths[min(int(len(lengths) * share), len(lengths) - 1)], 1)
    for event in events:
        event.start, event.end = event.start // step * step, event.end // step * step


def touching(events):
    for row in by_lane(events):
        for event, after in zip(row, row[1:]):
            if after.start >= event.end:
                event.end = after.start


def ending_together(events):
    for row in by_lane(events):
        around = row[0]
        for event in row[1:]:
            if event.end <= around.end:
                event.end = around.end
            else:
                around = event


def of_no_length(events):
    for event in events[::3]:
        event.end = event.start


def begun_with_launch(events, at_end):
    launches = {event.number: event for event in events if event.number is not None and not event.is_device}
    for event in events:
        launch = launches.get(event.number) if event.is_device else None
        if launch:
            length, event.start = event.end - event.start, launch.end if at_end else launch.start
            event.end = event.start + length


def apart_by_one(events):
    """Whatever touches what comes before on its row begins one unit later, and where there is a unit between both it is gone."""
    for row in by_lane(events):
        for event, after in zip(row, row[1:]):
            if after.start == event.end and after.end > after.start:
                after.start += 1
            elif after.start == event.end + 1:
                after.start -= 1


def scaled(events, percent, wanted):
    for event in events:
        if wanted is None:
            event.start, event.end = event.start * percent // 100, event.end * percent // 100
        elif event.is_device == wanted:
            event.end = event.start + (event.end - event.start) * percent // 100


def for_seventy_years(events):
    for event in events[::7]:
        event.end = event.start + 2200000000000000000


CHANGES = [("on a grid of the median", lambda events: on_grid(events, .5)), ("on a grid of the longest tenth", lambda events: on_grid(events, .9)),
           ("touching", touching), ("ending together", ending_together), ("every third of no length", of_no_length),
           ("work begins with its launch", lambda events: begun_with_launch(events, False)),
           ("work begins when its launch ends", lambda events: begun_with_launch(events, True)), ("apart by one", apart_by_one),
           ("all at a tenth", lambda events: scaled(events, 10, None)), ("all ten times", lambda events: scaled(events, 1000, None)),
           ("all a million times", lambda events: scaled(events, 10 ** 8, None)), ("every seventh for seventy years", for_seventy_years),
           ("device work half as long", lambda events: scaled(events, 50, True)), ("device work a tenth as long", lambda events: scaled(events, 10, True)),
           ("device work half as long again", lambda events: scaled(events, 150, True)), ("host calls half as long", lambda events: scaled(events, 50, False)),
           ("host calls a tenth as long", lambda events: scaled(events, 10, False))]


def of_document(document, change):
    events, kept = [], []
    for event in document["traceEvents"]:
        if event.get("ph") == "X" and all(isinstance(event.get(key), (int, float)) for key in ("ts", "dur")):
            about = event.get("args") if isinstance(event.get("args"), dict) else {}
            events.append(Event(round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000), (event.get("pid"), event.get("tid")),
                                about.get("correlation"), "stream" in about and not str(event.get("cat")).startswith("cuda_")))
            kept.append(event)
    if not events:
        return None
    change(events)
    was = [(event["ts"], event["dur"]) for event in kept]
    for event, now in zip(kept, events):
        event["ts"], event["dur"] = now.start / 1000, max(now.end - now.start, 0) / 1000
    data = json.dumps(document).encode()
    for event, (start, length) in zip(kept, was):
        event["ts"], event["dur"] = start, length
    return data


def of_database(data, change):
    base = sqlite3.connect(":memory:")
    base.deserialize(data)
    events, rows = [], []
    for (table,) in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name").fetchall():
        columns = [row[1] for row in base.execute('PRAGMA table_info("%s")' % table)]
        if not {"start", "end"} <= set(columns):
            continue
        lane = "streamId" if "streamId" in columns else "globalTid" if "globalTid" in columns else "0"
        number = "correlationId" if "correlationId" in columns else "NULL"
        for rowid, start, end, place, pair in base.execute('SELECT rowid, start, "end", %s, %s FROM "%s" WHERE typeof(start) = \'integer\' AND typeof("end") = \'integer\''
                                                           % (lane, number, table)).fetchall():
            events.append(Event(start, end, (table, place), pair, "streamId" in columns))
            rows.append((table, rowid))
    if not events:
        return None
    change(events)
    for (table, rowid), event in zip(rows, events):
        base.execute('UPDATE "%s" SET start = ?, "end" = ? WHERE rowid = ?' % table, (event.start, max(event.start, event.end), rowid))
    base.commit()
    return base.serialize()


def retimed(name, data):
    """(what is changed, the bytes then) of a profile in Kineto's form or an export of Nsight Systems."""
    at = zlib.crc32(name.encode())
    chosen = [CHANGES[(at + 3 * k) % len(CHANGES)] for k in range(EACH)]
    if data.startswith(b"SQLite format 3\0"):
        try:
            yield from ((what, of_database(data, change)) for what, change in chosen)
        except sqlite3.Error:  # damaged on purpose
            pass
        return
    try:
        document = json.loads(data)
    except ValueError:
        return
    if isinstance(document, dict) and isinstance(document.get("traceEvents"), list) and all(isinstance(event, dict) for event in document["traceEvents"]):
        yield from ((what, of_document(document, change)) for what, change in chosen)


def write(folder):
    """Programs with one cause each, and those that have something of everything; the paths of these, and of files of the corpus."""
    paths = [plant()[0].write(folder, plant.__name__ + ".json") for plant in answertraces.PLANTED]
    for cause, play, numbers, _ in answertraces.EDITS:
        program = answertraces.Program()
        play(program, False, *numbers)
        paths.append(program.trace.write(folder, re.sub(r"\W+", "_", "%s %s" % (cause, numbers)) + ".json"))
    paths += [mixedtraces.write(folder, "mixed_%d.json" % seed, seed) for seed in range(201, 241)]
    paths += sorted(path for kind in ("chrome", "nsys") for path in glob.glob(os.path.join(TESTS, "corpus", kind, "*")) if os.path.isfile(path))
    return [path for path in paths if os.path.getsize(path) < MAX_BYTES]
