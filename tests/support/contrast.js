() => {
  const parse = (text) => {
    const found = text.match(/[\d.]+/g).map(Number);
    if (text.startsWith("color(srgb")) return [...found.slice(0, 3).map((v) => v * 255), found[3] ?? 1];
    return [...found.slice(0, 3), found[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3])).concat(1);
  const luminance = ([r, g, b]) => {
    const part = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      layers.push(parse(getComputedStyle(one).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  let least = { ratio: 99 };
  for (const element of document.body.querySelectorAll("*")) {
    const said = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!said || !element.checkVisibility() || element.closest(".hidden, .skip")) continue;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    if (element.tagName === "title" || !/^(rgb|color)/.test(colour)) continue;
    const back = behind(element);
    const [a, b] = [luminance(over(parse(colour), back)), luminance(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least.ratio) least = { ratio, text: element.outerHTML.slice(0, 160), colour, back };
  }
  return least;
}
