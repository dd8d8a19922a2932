// Elements from data. A string becomes a text node, never markup.

export type Child = Node | string | number | null | undefined | false | Child[];

export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number | boolean | null | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? "" : String(value));
  append(element, children);
  return element;
}

export function append(parent: Node, children: Child[]): void {
  for (const child of children)
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.appendChild(child);
    else if (child !== null && child !== undefined && child !== false)
      parent.appendChild(document.createTextNode(String(child)));
}

// Puts `between` between the parts.
export function joined(parts: Child[], between: string): Child[] {
  return parts.flatMap((part, at) => (at === 0 ? [part] : [between, part]));
}

// "#/a/b": each part may hold any character.
export function route(...parts: string[]): string {
  return "#/" + parts.map(encodeURIComponent).join("/");
}
