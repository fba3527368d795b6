type Undefinable<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T]

export type Defined<T> = { readonly [K in Exclude<keyof T, Undefinable<T>>]: T[K] } & {
  readonly [K in Undefinable<T>]?: Exclude<T[K], undefined>
}

/** Drops undefined fields. Conditional spreads are faster: use those on the path of a request. */
export function defined<T extends object>(fields: T): Defined<T> {
  const result: Partial<T> = {}
  for (const name of Object.keys(fields) as (keyof T)[]) if (fields[name] !== undefined) result[name] = fields[name]
  return result as Defined<T>
}
