// A page that was opened as a file may neither read the index of the search nor start the worker that reads it. So
// there the search is not shown, and nothing is started; `make site` says how to serve the site.
if (location.protocol === "file:") {
  document.querySelectorAll("[data-bs-target='#mkdocs_search_modal']").forEach(button => button.hidden = true);
  window.Worker = class { postMessage() {} };
}
