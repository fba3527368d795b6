/**
 * Remembers the result that a presenter derived from an entity, as long as the entity is the same object and the inputs
 * are equal. The result is then the same frozen object at each read, so that its text is rendered once (see
 * `http/envelope/rendered-texts.ts`).
 */
export class Derivation<E extends object, R extends object> {
  readonly #latest = new WeakMap<E, { readonly inputs: readonly unknown[]; readonly result: R }>()

  /** @param inputs everything else that the result depends on; compared one by one with `Object.is` */
  of(entity: E, inputs: readonly unknown[], derive: () => R): R {
    const latest = this.#latest.get(entity)
    if (latest !== undefined && isSame(latest.inputs, inputs)) return latest.result
    const result = derive()
    // Only a frozen entity is what it was when it is read again.
    if (Object.isFrozen(entity)) this.#latest.set(entity, { inputs, result: Object.freeze(result) })
    return result
  }
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((input, index) => Object.is(input, other[index]))
