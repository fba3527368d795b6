/** Caches a presenter's result for an entity as one frozen object, so that its text is rendered once. */
export class Derivation<E extends object, R extends object> {
  readonly #latest = new WeakMap<E, { readonly inputs: readonly unknown[]; readonly result: R }>()

  of(entity: E, inputs: readonly unknown[], derive: () => R): R {
    const latest = this.#latest.get(entity)
    if (latest !== undefined && isSame(latest.inputs, inputs)) return latest.result
    const result = derive()
    if (Object.isFrozen(entity)) this.#latest.set(entity, { inputs, result: Object.freeze(result) })
    return result
  }
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((input, index) => Object.is(input, other[index]))
