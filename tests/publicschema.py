"""The public validator of JSON Schema (python3-jsonschema), made to ask itself the same once: for scripts that hold many documents to it.

    from publicschema import Draft202012Validator, validators
    if Draft202012Validator:
        of = validators(schemas)           # {"neurolens.run/4": validator, …}
        of["neurolens.run/4"].iter_errors(document)
"""
import warnings

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend
except ImportError:
    Draft202012Validator = None

BOUNDED = {"type", "minimum", "description"}  # keywords that let a greater number of the same kind through where they let one through


def is_bounded(wanted, kind):
    """Whether a schema that lets a number of Python's type through lets every greater one of it through, too."""
    types = wanted.get("type", ()) if isinstance(wanted, dict) else ()
    return types and wanted.keys() <= BOUNDED and ("number" in types if kind is float else kind is int)  # 1.0 is an integer, 1.5 is none


def asking_once():
    """The public validator, which is asked once what it says of a small value under a schema: where it found no fault with null, a
    word, a truth or a small number, it finds none the next time; nor with a greater number where only a least one is asked for.
    Documents hold the same few values, and times, a great many times."""
    sound = set()  # (schema by its identity, type, value)
    least = {}  # (schema by its identity, type): the least number that was sound, where all greater ones are
    kinds = {}  # (schema by its identity, type): is_bounded

    def properties(validator, properties, instance, schema):
        if not validator.is_type(instance, "object"):
            return
        for name, wanted in properties.items():
            if name not in instance:
                continue
            value = instance[name]
            kind, floor, key = type(value), None, None
            if value is None or kind is str or kind is bool or kind is int and abs(value) < 1 << 16:
                key = (id(wanted), kind, value)
                if key in sound:
                    continue
            elif kind is int or kind is float:
                floor = (id(wanted), kind)
                if floor not in kinds:
                    kinds[floor] = is_bounded(wanted, kind)
                if not kinds[floor]:
                    floor = None
                elif floor in least and value >= least[floor]:
                    continue
            good = True
            for error in validator.descend(value, wanted, path=name, schema_path=name):
                good = False
                yield error
            if good and key:
                sound.add(key)
            elif good and floor and value == value:
                least[floor] = min(value, least.get(floor, value))
    return extend(Draft202012Validator, {"properties": properties})


def validators(schemas):
    """A validator for the documents of each schema, by what they call themselves. The schemas must stay as long: identities are kept."""
    public = asking_once()
    return {schema["properties"]["schema"]["const"]: public(schema) for schema in schemas}
