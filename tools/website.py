#!/usr/bin/env python3
"""Renders the documentation as a static site with search, in build/site/html (docs/packages.md). `make site` calls it; it needs PyPI for MkDocs and
Material for MkDocs, which go into build/venv-site, and npm for one script.

    tools/website.py           all pages; a dead link or a missing anchor is an error
    tools/website.py --sources only the tree that MkDocs would read, in build/site/pages

The pages are the same files that people read in the repository, in the same folders, so that their links hold. The site needs no server:
search works from a disk, too, and nothing is fetched from the network.
"""
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from html.parser import HTMLParser

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SITE = os.path.join(ROOT, "build", "site")
PAGES, HTML, VENV = os.path.join(SITE, "pages"), os.path.join(SITE, "html"), os.path.join(ROOT, "build", "venv-site")
NEEDS = ["mkdocs==1.6.1", "mkdocs-material==9.*"]
# Sections of the menu: title, pages or folders of pages.
MENU = [("Start", ["README.md", "docs/README.md", "docs/wheel.md", "docs/packages.md", "docs/glossary.md"]),
        ("Tasks", ["docs/guide", "docs/workflows.md", "examples/README.md"]),
        ("Commands", ["docs/answers.md", "docs/findings.md", "docs/diff.md", "docs/check.md", "docs/bench.md", "docs/trend.md", "docs/rank.md",
                      "docs/fingerprint.md", "docs/profile.md", "docs/top.md", "docs/report.md", "docs/export.md", "docs/sql.md"]),
        ("Recording", ["docs/python.md", "docs/scopes.md", "docs/overhead.md"]), ("In other programs", ["docs/integrations.md", "docs/engine.md"]),
        ("Coding agents", ["agent/neurolens/SKILL.md", "agent/neurolens/references", "AGENTS.md"]),
        ("Definitions", ["docs/analysis.md", "docs/kernels.md", "docs/steps.md", "docs/work.md", "docs/metrics.md"]), ("Formats", ["docs/formats"]),
        ("Development", ["CONTRIBUTING.md", "docs/architecture.md", "src", "docs/speed.md", "docs/fuzzing.md", "docs/mutants.md", "tests/README.md",
                         "SECURITY.md", "CHANGELOG.md"])]
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", re.M)
CONFIG = """site_name: NeuroLens
site_description: Why is my GPU waiting, and what would fix it?
docs_dir: pages
site_dir: html
use_directory_urls: false
theme:
  name: material
  font: false
  icon: {logo: material/chart-timeline}
  features: [navigation.sections, navigation.top, navigation.indexes, search.highlight, content.code.copy, toc.follow]
  palette:
    - {media: "(prefers-color-scheme: light)", scheme: default, primary: teal, accent: teal, toggle: {icon: material/weather-night, name: Dark}}
    - {media: "(prefers-color-scheme: dark)", scheme: slate, primary: teal, accent: teal, toggle: {icon: material/weather-sunny, name: Light}}
plugins: [search, offline]
extra: {generator: false}
markdown_extensions: [tables, fenced_code, attr_list, {toc: {permalink: true, slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}}}]
validation: {nav: {omitted_files: warn, not_found: warn}, links: {not_found: warn, anchors: warn, unrecognized_links: warn}}
nav:
"""


def tracked():
    """Files of git, known or new."""
    out = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    return {name for name in out.split("\0") if name and os.path.exists(os.path.join(ROOT, name))}


def pages(files):
    """[(section, [page])], every page once."""
    menu, placed = [], set()
    for title, places in MENU:
        found = []
        for place in places:
            inside = sorted(name for name in files if name.startswith(place + "/") and name.endswith(".md")) if not place.endswith(".md") else [place]
            found += [name for name in inside if name in files and name not in placed]
            placed.update(found)
        menu.append((title, found))
    rest = sorted(name for name in files if name.startswith("docs/") and name.endswith(".md") and name not in placed)
    menu[-1][1].extend(rest)
    return menu


def links(text):
    """Places that a page's Markdown links to, code left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    text = re.sub(r"(?m)^(?: {4}|\t).*$", "", text)
    return [first or second for first, second in LINK.findall(text)]


def copied(name):
    place = os.path.join(PAGES, name)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    shutil.copy(os.path.join(ROOT, name), place)


def folder_list(folder, files):
    """A page in place of a folder that a page links to."""
    inside = sorted({name[len(folder) + 1:].split("/")[0] for name in files if name.startswith(folder + "/")})
    with open(os.path.join(PAGES, folder, "index.md"), "w", encoding="utf-8") as file:
        file.write("# %s\n\n%s\n" % (folder, "\n".join("- `%s`" % name for name in inside)))


def sources():
    """Copies the pages and what they link to; the menu."""
    files, menu = tracked(), []
    shutil.rmtree(PAGES, ignore_errors=True)
    menu = pages(files)
    todo, done, folders = [page for _, found in menu for page in found], set(), set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        copied(name)
        if not name.endswith(".md"):
            continue
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            text = file.read()
        for link in links(text):
            target = os.path.normpath(os.path.join(os.path.dirname(name), urllib.parse.unquote(link.split("#")[0])))
            if re.match(r"[a-z]+:", link) or not link.split("#")[0]:
                continue
            if target in files:
                todo.append(target)
            elif any(each.startswith(target + "/") for each in files):
                folders.add(target)
    listed = [name for name in done if name.endswith(".md") and not any(name in found for _, found in menu)]
    menu[-1][1].extend(sorted(listed))
    return menu, folders, files


def adapted(folders, files):
    """Links to folders get a page; front matter of skills is not shown."""
    for folder in sorted(folders):
        os.makedirs(os.path.join(PAGES, folder), exist_ok=True)
        if not any(os.path.exists(os.path.join(PAGES, folder, name)) for name in ("README.md", "index.md")):
            folder_list(folder, files)
    for place, _, names in os.walk(PAGES):
        for name in names:
            if not name.endswith(".md"):
                continue
            path = os.path.join(place, name)
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"\A---\n.*?\n---\n", "", file.read(), flags=re.S)
            here = os.path.relpath(place, PAGES)

            def whole(match):
                target = os.path.normpath(os.path.join(here, match.group(2)))
                if target not in folders:
                    return match.group(0)
                page = "README.md" if os.path.exists(os.path.join(PAGES, target, "README.md")) else "index.md"
                return "%s(%s/%s)" % (match.group(1), match.group(2).rstrip("/"), page)
            text = re.sub(r"(\[[^\]\n]*\])\(([^)\s#:]+)\)", whole, text)
            # GitHub begins a list or a table right below a paragraph; Python's Markdown wants an empty line there.
            text = re.sub(r"(?m)^(?![-|*#>\s]|\d+\.)(.+)\n(?=(?:- |\* |\d+\. |\|))", r"\1\n\n", text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


def config(menu):
    lines = [CONFIG]
    for title, found in menu:
        lines.append("  - %s:\n" % title)
        lines += ["    - %s\n" % name for name in found]
    with open(os.path.join(SITE, "mkdocs.yml"), "w", encoding="utf-8") as file:
        file.write("".join(lines))


def without_network():
    """What the search needs where pages come from a disk (a worker in a frame) is a file of the site, too."""
    folder = os.path.join(SITE, "npm")
    script = os.path.join(folder, "node_modules", "iframe-worker", "shim", "index.js")
    if not os.path.exists(script):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts", "--no-fund", "--no-audit", "--prefix", folder, "iframe-worker@1.0.4"], check=True)
    shutil.copy(script, os.path.join(HTML, "assets", "javascripts", "iframe-worker.js"))
    for place, _, names in os.walk(HTML):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(place, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                to = os.path.relpath(os.path.join(HTML, "assets", "javascripts", "iframe-worker.js"), place)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace("https://unpkg.com/iframe-worker/shim", to))


def anchors(text):
    """The places that GitHub gives a page's headings."""
    seen, found = {}, set()
    for heading in re.findall(r"(?m)^#{1,6} (.+?)\s*$", re.sub(r"(?ms)^```.*?^```", "", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", lambda match: match.group(1) or "", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = seen[slug] = seen.get(slug, -1) + 1
        found.add("%s-%d" % (slug, count) if count else slug)
    return found


def dead_in_repository():
    """(pages, links, what is wrong) of the Markdown as it lies in the repository: files, folders and headings that links name."""
    files, texts, count, wrong = tracked(), {}, 0, []
    for name in sorted(name for _, found in pages(files) for name in found):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            texts[name] = file.read()
    for name, text in texts.items():
        for link in links(text):
            place, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            target = os.path.normpath(os.path.join(os.path.dirname(name), urllib.parse.unquote(place))) if place else name
            if target not in files and not any(each.startswith(target + "/") for each in files):
                wrong.append("%s: %s is not there" % (name, link))
            elif anchor and target in texts and anchor not in anchors(texts[target]):
                wrong.append("%s: %s has no such heading" % (name, link))
    return len(texts), count, wrong


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids = [], set()

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key == "id" or (tag == "a" and key == "name"):
                self.ids.add(value)
            elif key in ("href", "src") and value:
                self.links.append((tag, value))


def dead():
    """Links of the rendered pages that lead nowhere, and what a page would fetch from elsewhere."""
    read, wrong = {}, []
    for place, _, names in os.walk(HTML):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(place, name)
                read[path] = Links()
                with open(path, encoding="utf-8") as file:
                    read[path].feed(file.read())
    for path, found in read.items():
        if os.path.basename(path) == "404.html":
            continue
        for tag, link in found.links:
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                if tag != "a" and not (tag == "link" and "canonical" in link) and address.scheme != "data":
                    wrong.append("%s fetches %s" % (os.path.relpath(path, HTML), link))
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(address.path))) if address.path else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if not os.path.exists(target):
                wrong.append("%s: %s is not there" % (os.path.relpath(path, HTML), link))
            elif address.fragment and target in read and urllib.parse.unquote(address.fragment) not in read[target].ids:
                wrong.append("%s: %s has no such place" % (os.path.relpath(path, HTML), link))
    return len(read), sum(len(found.links) for found in read.values()), sorted(set(wrong))


def main():
    menu, folders, files = sources()
    adapted(folders, files)
    config(menu)
    if sys.argv[1:] == ["--sources"]:
        return
    python = os.path.join(VENV, "bin", "python")
    if not os.path.exists(os.path.join(VENV, "bin", "mkdocs")):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet"] + NEEDS, check=True)
    date = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()
    done = subprocess.run([python, "-m", "mkdocs", "build", "--quiet", "--strict", "--clean", "-f", os.path.join(SITE, "mkdocs.yml")],
                          env=dict(os.environ, SOURCE_DATE_EPOCH=date, DISABLE_MKDOCS_2_WARNING="true"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit("site: MkDocs refuses the pages:\n" + done.stdout[-6000:])
    without_network()
    count, links_seen, wrong = dead()
    if wrong:
        sys.exit("site: %d links lead nowhere:\n%s" % (len(wrong), "\n".join(wrong[:60])))
    print("site: %d pages, %d links, none dead: %s/index.html" % (count, links_seen, os.path.relpath(HTML, ROOT)))


if __name__ == "__main__":
    main()
