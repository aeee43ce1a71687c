"""Random numpy programs: rows are changed, added up, noised and released, some with a mistake planted.

A program is source text, so that a failure prints it. Beside it stands a twin, the same text in which
each release calls an attacker instead of a generator. Nothing here knows a sensitivity.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from . import words

ROWS = 6  # of the example; public under replace-one


@dataclass(frozen=True)
class Program:
    """`source` defines program(x, rng); `twin` defines program(x, attacker)."""

    seed: int
    source: str
    twin: str
    columns: int
    planted: str | None
    latent: str | None = None  # "poisson" or "batch": rows are sampled

    @property
    def name(self) -> str:
        return f"program {self.seed}" + (f" ({self.planted})" if self.planted else "")


@dataclass
class Value:
    """A variable: `shape` of one row (rows) or of all of it (aggregates, released values)."""

    name: str
    shape: tuple[int, ...]
    rows: int = 0  # which list of records, for rows


@dataclass
class Writer:
    """Writes one program line by line."""

    seed: int
    planted: str | None
    dice: random.Random = field(init=False)
    lines: list[tuple[str, str]] = field(default_factory=list)
    rows: list[Value] = field(default_factory=list)
    aggregates: list[Value] = field(default_factory=list)
    released: list[Value] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    names: int = 0
    row_lists: int = 1
    noise: tuple[str, tuple[int, ...]] | None = None  # a draw kept for the next release, if planted
    latent: str | None = None

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def new(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def constant(self) -> str:
        return repr(self.dice.choice(words.CONSTANTS))

    def fill(self, template: str, **known: str) -> str:
        """Constants in the places of a template."""
        for place in ("{c}", "{k}"):
            while place in template:
                template = template.replace(place, self.constant(), 1)
        if "{lo}" in template:
            low, high = sorted(self.dice.sample(words.ENDS, 2))
            template = template.replace("{lo}", repr(low)).replace("{hi}", repr(high))
        for key, value in known.items():
            template = template.replace("{" + key + "}", value)
        return template

    def write(self, text: str, twin: str | None = None) -> None:
        self.lines.append((text, text if twin is None else twin))

    def assign(self, text: str, twin: str | None = None) -> str:
        name = self.new()
        self.write(f"{name} = {text}", None if twin is None else f"{name} = {twin}")
        return name

    # Rows ----------------------------------------------------------------------------------------

    def start(self, columns: int) -> None:
        if self.planted != "no care for NaN":
            self.write(self.dice.choice(words.CARE))
        if self.planted != "no clip":
            self.write(self.fill(self.dice.choice(words.CLIPS)))
        self.rows.append(Value("x", (columns,)))

    def change_rows(self) -> None:
        value = self.dice.choice(self.rows[-3:])
        partners = [v for v in self.rows if v.rows == value.rows and v.shape == value.shape]
        roll = self.dice.random()
        if self.released and roll < 0.15:
            return self.adapt(value)
        if roll < 0.45:
            text = self.fill(self.dice.choice(words.ELEMENTWISE), v=value.name)
            made = Value(self.assign(text), value.shape, value.rows)
        elif roll < 0.55:
            text = self.fill(
                self.dice.choice(words.TWO), a=value.name, b=self.dice.choice(partners).name
            )
            made = Value(self.assign(text), value.shape, value.rows)
        elif roll < 0.65:
            return self.select(value)
        elif roll < 0.73:
            text = self.fill(self.dice.choice(words.IN_PLACE), v=value.name)
            for line in text.split("; "):
                self.write(line)
            return None
        elif value.shape:
            made = self.columns(value)
        else:
            text = self.fill(self.dice.choice(words.ELEMENTWISE), v=value.name)
            made = Value(self.assign(text), value.shape, value.rows)
        self.rows.append(made)
        return None

    def columns(self, value: Value) -> Value:
        width = value.shape[0]
        if self.dice.random() < 0.5:
            text = self.fill(
                self.dice.choice(words.TO_COLUMN),
                v=value.name,
                j=str(self.dice.randrange(width)),
                w=repr([self.dice.choice(words.CONSTANTS) for _ in range(width)]),
            )
            return Value(self.assign(text), (), value.rows)
        text, change = self.dice.choice(words.TO_COLUMNS)
        text = self.fill(
            text,
            v=value.name,
            w=repr([self.dice.choice(words.CONSTANTS) for _ in range(width)]),
            j=str(self.dice.randrange(width)),
        )
        return Value(self.assign(text), (width * change,), value.rows)

    def select(self, value: Value) -> None:
        """Some of the rows."""
        masks = [v for v in self.rows if v.rows == value.rows and not v.shape]
        text = self.dice.choice(words.SELECT)
        if "{m}" in text:
            if not masks:
                return
            text = text.replace("{m}", self.dice.choice(masks).name)
        self.row_lists += 1
        made = Value(self.assign(self.fill(text, v=value.name)), value.shape, self.row_lists)
        self.rows.append(made)

    def adapt(self, value: Value) -> None:
        """Rows seen from a released number."""
        seen = self.dice.choice(self.released)
        number = seen.name if not seen.shape else f"{seen.name}[0]"
        text = self.fill(self.dice.choice(words.ADAPTIVE), v=value.name, r=number)
        self.rows.append(Value(self.assign(text), value.shape, value.rows))

    # Aggregates ----------------------------------------------------------------------------------

    def aggregate(self) -> None:
        value = self.dice.choice(self.rows[-3:])
        partners = [v for v in self.rows if v.rows == value.rows and v.shape == value.shape]
        table = words.AGGREGATES if value.shape else words.AGGREGATES_OF_COLUMN
        text, shape = self.dice.choice(table)
        text = self.fill(text, v=value.name, b=self.dice.choice(partners).name)
        width = value.shape[0] if value.shape else 1
        found = tuple(width if n == "d" else int(n) for n in shape)
        self.aggregates.append(Value(self.assign(text), found))

    def change_aggregate(self) -> None:
        value = self.aggregates[-1]
        same = [v for v in self.aggregates if v.shape == value.shape]
        if len(value.shape) == 1 and self.dice.random() < 0.5:
            length = value.shape[0]
            text, shape = self.dice.choice(words.OF_VECTOR)
            matrix = [[self.dice.choice(words.CONSTANTS) for _ in range(length)] for _ in range(2)]
            text = self.fill(text, a=value.name, M=repr(matrix))
            sizes = {"d": length, "2d": 2 * length, "d+1": length + 1, "2": 2}
            sizes["some of d^2"] = min(2 * length, length**2)
            found = tuple(sizes[n] for n in shape)
        else:
            text = self.fill(
                self.dice.choice(words.OF_AGGREGATE), a=value.name, b=self.dice.choice(same).name
            )
            found = value.shape
        self.aggregates.append(Value(self.assign(text), found))

    # Releases ------------------------------------------------------------------------------------

    def release(self) -> None:
        value = self.aggregates[-1]
        scale = self.dice.choice(words.SCALES)
        family = self.dice.choice(("laplace", "normal"))
        size = value.shape
        if self.planted == "one draw for many" and value.shape:
            size = ()
        if self.planted == "scale from the data":
            return self.data_scale(value)
        if self.planted == "noise used twice":
            return self.reuse(value, scale)
        if self.planted == "noise taken back":
            return self.take_back(value, scale)
        if not self.planted and len(value.shape) == 1 and self.dice.random() < 0.2:
            return self.choose(value, scale)
        draw = f"rng.{family}(scale={scale}, size={size})"
        spelled = [
            f"{value.name} + {draw}",
            f"{draw} + {value.name}",
            f"{value.name} - {draw}",
            f"rng.{family}({value.name}, {scale})",
            f"np.add({value.name}, {draw})",
        ]
        if family == "normal":
            spelled.append(f"{value.name} + {scale} * rng.standard_normal({size})")
        text = self.dice.choice(spelled)
        if f"rng.{family}({value.name}" in text:
            size = value.shape
        made = self.assign(text, f"attacker.release({family!r}, {value.name}, {scale}, {size})")
        self.released.append(Value(made, value.shape))
        self.shown.append(made)
        return None

    def choose(self, value: Value, scale: float) -> None:
        family = self.dice.choice(("gumbel", "laplace", "exponential"))
        draw = f"rng.{family}(scale={scale}, size={value.shape})"
        twin = f"attacker.choose({family!r}, {value.name}, {scale})"
        self.shown.append(self.assign(f"np.argmax({value.name} + {draw})", twin))

    def data_scale(self, value: Value) -> None:
        rows = self.rows[0].name
        spread = self.dice.choice(
            [f"np.abs({value.name}).max() + 0.1", f"{rows}.std() + 0.1", f"np.ptp({rows}) + 0.1"]
        )
        text = f"{value.name} + rng.laplace(scale={spread}, size={value.shape})"
        twin = f"attacker.release('laplace', {value.name}, {spread}, {value.shape})"
        self.shown.append(self.assign(text, twin))

    def reuse(self, value: Value, scale: float) -> None:
        if self.noise is None or self.noise[1] != value.shape:
            kept = self.new()
            self.write(f"{kept} = rng.laplace(scale={scale}, size={value.shape})", "pass")
            self.noise = (kept, value.shape)
        kept = self.noise[0]
        twin = f"attacker.shared({kept!r}, {value.name}, {scale})"
        self.shown.append(self.assign(f"{value.name} + {kept}", twin))
        other = self.assign(self.fill(f"{value.name} * {{c}}"))
        twin = f"attacker.shared({kept!r}, {other}, {scale})"
        self.shown.append(self.assign(f"{other} + {kept}", twin))

    def take_back(self, value: Value, scale: float) -> None:
        kept = self.new()
        self.write(f"{kept} = rng.laplace(scale={scale}, size={value.shape})", f"{kept} = 0.0")
        noisy = self.assign(f"{value.name} + {kept}")
        self.shown.append(self.assign(f"({noisy} - {kept}) * 1.0"))

    def post_process(self) -> None:
        if self.released and self.dice.random() < 0.4:
            value = self.dice.choice(self.released)
            made = self.assign(self.fill(self.dice.choice(words.AFTER), a=value.name))
            self.released.append(Value(made, value.shape))
            self.shown.append(made)

    def text(self) -> tuple[str, str]:
        shown = f"    return ({', '.join(self.shown)},)"
        source = ["def program(x, rng):", *(f"    {a}" for a, _ in self.lines), shown]
        twin = ["def program(x, attacker):", *(f"    {b}" for _, b in self.lines), shown]
        return "\n".join(source), "\n".join(twin)


def write(seed: int) -> Program:
    """The program of a seed; about three of ten have a mistake planted."""
    dice = random.Random(seed * 7919 + 13)
    planted = dice.choice(words.MISTAKES) if dice.random() < 0.3 else None
    if planted is None and dice.random() < 0.12:
        return sampled(seed)
    columns = dice.choice((1, 2, 3))
    writer = Writer(seed, planted)
    writer.start(columns)
    for _ in range(dice.choice((1, 1, 2, 3))):
        for _ in range(dice.choice((0, 1, 1, 2, 3))):
            writer.change_rows()
        if planted == "rows mixed" and dice.random() < 0.7:
            _mix(writer, dice)
        writer.aggregate()
        for _ in range(dice.choice((0, 0, 1, 1, 2))):
            writer.change_aggregate()
        if planted == "branch on the data" and dice.random() < 0.7:
            last = writer.aggregates[-1]
            made = writer.assign(
                writer.fill(f"{last.name} if np.sum({last.name}) > {{c}} else 0.0 * {last.name}")
            )
            writer.aggregates.append(Value(made, last.shape))
        writer.release()
        writer.post_process()
    if planted == "released without noise":
        writer.shown.append(writer.aggregates[-1].name)
    source, twin = writer.text()
    return Program(seed, source, twin, columns, planted)


def _mix(writer: Writer, dice: random.Random) -> None:
    """Rows that depend on other rows."""
    value = writer.rows[-1]
    writer.row_lists += 1
    text = writer.fill(dice.choice(words.MIXED), v=value.name)
    writer.rows.append(Value(writer.assign(text), value.shape, writer.row_lists))


def sampled(seed: int) -> Program:
    """A sum over rows that coins choose; the twin is told which."""
    dice = random.Random(seed * 104729 + 7)
    writer = Writer(seed, None)
    writer.start(1)
    for _ in range(dice.choice((0, 1, 2))):
        text = writer.fill(dice.choice(words.ELEMENTWISE), v=writer.rows[-1].name)
        writer.rows.append(Value(writer.assign(text), (1,), 0))
    rows = writer.rows[-1].name
    scale = dice.choice(words.SCALES)
    if dice.random() < 0.6:
        latent, rate = "poisson", dice.choice((0.25, 0.5))
        mask = writer.assign(
            f"rng.random(x.shape[0]) < {rate}", f"attacker.mask({rate}, x.shape[0])"
        )
        chosen = dice.choice(
            [
                f"{rows}[{mask}]",
                f"{rows} * {mask}[:, None]",
                f"np.where({mask}[:, None], {rows}, 0.0)",
            ]
        )
    else:
        latent, size = "batch", dice.choice((2, 3))
        picked = writer.assign(
            f"rng.choice(len(x), size={size}, replace=False)", f"attacker.batch(len(x), {size})"
        )
        chosen = f"{rows}[{picked}]"
    part = writer.assign(chosen)
    total = writer.assign(dice.choice([f"{part}.sum()", f"np.sum({part})"]))
    family = dice.choice(("normal", "normal", "laplace"))
    made = writer.assign(
        f"{total} + rng.{family}(scale={scale})",
        f"attacker.release({family!r}, {total}, {scale}, ())",
    )
    writer.shown.append(made)
    source, twin = writer.text()
    return Program(seed, source, twin, 1, None, latent)
