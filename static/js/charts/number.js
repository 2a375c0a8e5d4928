// Numbers as charts write them, in the page's language.
export const LANGUAGE = document.documentElement.lang || "en";

export const number = (value) =>
  value.toLocaleString(LANGUAGE, { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0 });

const ROUND = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10]; // times a power of ten: half of them is easy to read too

// The round number at or above the most that an axis has to show.
export const roundTop = (most) => {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * ROUND.find((times) => times * power >= most * 0.999);
};
