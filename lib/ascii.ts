/**
 * Is a text made of ASCII's visible characters, and of blanks where `blanks`
 * says so? Nearly all that the guard looks at is, and its first regular
 * expression would cost a start more than everything it is asked for.
 */
export function isVisibleAscii(text: string, blanks: boolean): boolean {
  const lowest = blanks ? 0x20 : 0x21;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < lowest || code > 0x7e) return false;
  }
  return true;
}
