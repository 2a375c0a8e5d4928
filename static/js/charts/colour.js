// Tabler's colours in the theme of now. A canvas does not understand light-dark() or oklch(): drawing
// one pixel yields its bytes.
const root = document.documentElement;
const probe = document.createElement("span");
const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const known = new Map();

const bytes = (name) => {
  if (!probe.isConnected) document.body.append(probe);
  probe.hidden = true;
  probe.style.color = `var(--tblr-${name})`;
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = getComputedStyle(probe).color;
  pixel.fillRect(0, 0, 1, 1);
  return [...pixel.getImageData(0, 0, 1, 1).data];
};

export const colour = (name, alpha = 1) => {
  const key = `${root.dataset.bsTheme} ${name}`;
  if (!known.has(key)) known.set(key, bytes(name));
  const [red, green, blue, whole] = known.get(key);
  return `rgba(${red}, ${green}, ${blue}, ${(alpha * whole) / 255})`;
};
