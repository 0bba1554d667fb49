"""A training loop that names its steps and layers.

    neurolens run -o train.nlt -- python train.py
    neurolens analyze train.nlt
"""
import nlens


@nlens.profile_function
def load(step):
    return [(step * 7 + i) % 97 for i in range(20000)]


def main():
    total = 0
    for number in range(5):
        with nlens.step(number):
            batch = load(number)
            with nlens.layer("encoder"):
                hidden = [value * value for value in batch]
            with nlens.layer("head"):
                total += sum(hidden)
        nlens.counter("batch", len(batch), unit="items")
    nlens.mark_event("done")
    print(total)


if __name__ == "__main__":
    main()
