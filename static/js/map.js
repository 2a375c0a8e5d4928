// On a small screen some tiles have no room for a name: the list that says the same is open there.
if (matchMedia("(max-width: 767.98px)").matches) {
  for (const list of document.querySelectorAll(".map-tree")) list.open = true;
}
