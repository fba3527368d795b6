/** The form of an invariant, and how one reads the rows that it compares. Source: conventions 18.2, 18.3, 23 (invariants). */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import type { Reader, Scalar } from '../../store/store.ts'

/** Something that does not hold. */
export interface Broken {
  /** Ids of what it is about: while a task holds one of them, it is no fault. */
  readonly about: readonly (string | undefined)[]
  /** A sentence without its full stop. */
  readonly fault: string
}

export interface Invariant {
  /** What holds, as a sentence. */
  readonly promise: string
  /** @param held what running tasks hold */
  readonly look: (store: Reader, held: ReadonlySet<string>) => AsyncIterable<Broken>
}

const rowsAtOnce = 200

/** All published rows in the order of one column, unique among those with the values of `where`. */
export async function* rowsOf<R extends AnyResource>(
  store: Reader,
  kind: R,
  where: Readonly<Record<string, Scalar>> = {},
  by = 'extId',
): AsyncGenerator<EntityOf<R>> {
  let last: Scalar | undefined
  for (;;) {
    const from = last === undefined ? {} : { from: last }
    const rows = await store.walk(kind, { where, by, limit: rowsAtOnce, ...from })
    for (const row of rows) if ((row as Record<string, Scalar>)[by] !== last) yield row
    if (rows.length < rowsAtOnce) return
    last = (rows.at(-1) as Record<string, Scalar>)[by]
  }
}
