/** Keeps the last `capacity` bytes of whatever is pushed; fixed memory. */
export class TailBuffer {
  readonly #ring: Uint8Array;
  #total = 0;

  /**
   * An empty one.
   *
   * @param capacity In bytes, above zero
   */
  constructor(capacity: number) {
    this.#ring = new Uint8Array(capacity);
  }

  /** Adds bytes; the oldest fall out. */
  push(bytes: Uint8Array): void {
    const size = this.#ring.length;
    const kept = bytes.subarray(Math.max(0, bytes.length - size));
    const at = (this.#total + bytes.length - kept.length) % size;
    const first = kept.subarray(0, size - at);
    this.#ring.set(first, at);
    this.#ring.set(kept.subarray(first.length), 0);
    this.#total += bytes.length;
  }

  /** A copy of what is kept, oldest first. */
  toBytes(): Uint8Array {
    const size = this.#ring.length;
    if (this.#total <= size) return this.#ring.slice(0, this.#total);
    const at = this.#total % size;
    const bytes = new Uint8Array(size);
    bytes.set(this.#ring.subarray(at), 0);
    bytes.set(this.#ring.subarray(0, at), size - at);
    return bytes;
  }
}
