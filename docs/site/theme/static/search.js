// The search: the index of pagefind is loaded when somebody begins to type, and asked in the browser.
const query = document.getElementById("query"), results = document.getElementById("results");
const address = new URL(query.dataset.index, document.baseURI).href;
const MOST = 8;
let index, latest = 0;

query.closest("search").hidden = location.protocol === "file:";  // a browser loads no index from a file

async function load() {
  const pagefind = await import(address);
  await pagefind.options({ noWorker: true });  // the index is small
  return pagefind;
}

async function search() {
  const text = query.value.trim(), number = ++latest;
  if (!text) return results.replaceChildren();
  index ??= load();
  const pagefind = await index;
  const users = { for: "users" };  // pages for developers come last, and have no such mark
  const searches = [users, { not: users }].map(filters => pagefind.search(text, { filters }));
  const found = (await Promise.all(searches)).flatMap(each => each.results);
  const pages = await Promise.all(found.slice(0, MOST).map(each => each.data()));
  if (number === latest) show(found.length, pages);
}

function show(number, pages) {
  const count = document.createElement("p");
  count.textContent = number === 1 ? "1 page" : `${number} pages`;
  const list = document.createElement("ol");
  for (const page of pages) {
    const best = page.sub_results[0] ?? page, item = document.createElement("li");
    const link = document.createElement("a"), text = document.createElement("p");
    link.href = best.url;
    link.textContent = best.title === page.meta.title ? page.meta.title : `${page.meta.title}: ${best.title}`;
    text.innerHTML = best.excerpt;  // of our own pages, escaped by pagefind, with <mark>
    item.append(link, text);
    list.append(item);
  }
  results.replaceChildren(count, list);
}

query.addEventListener("input", search);
document.addEventListener("keydown", event => {
  if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
    event.preventDefault();
    query.focus();
  } else if (event.key === "Escape") {
    query.value = "";
    results.replaceChildren();
  }
});
const asked = new URLSearchParams(location.search).get("q");
if (asked) {
  query.value = asked;
  search();
}
for (const details of document.querySelectorAll("nav details"))
  if (matchMedia("(min-width: 60rem)").matches) details.open = true;
