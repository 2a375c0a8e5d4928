// What the browser remembers for a page. Where it stores nothing (blocked, or full), a choice holds
// for this page alone.
export const read = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};

export const write = (name, text) => {
  try {
    localStorage.setItem(name, text);
  } catch {
    return;
  }
};

// A set of names; another version may have written something else.
export const readSet = (name) => {
  try {
    return new Set(JSON.parse(read(name) ?? "[]"));
  } catch {
    return new Set();
  }
};

export const writeSet = (name, names) => write(name, JSON.stringify([...names]));
