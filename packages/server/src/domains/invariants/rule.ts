import type { AnyResource, EntityOf } from '@hyperplane/contract'
import type { Reader, Scalar } from '../../store/store.ts'

const rowsAtOnce = 200

/** Published rows in the order of `by`, whose values must be unique among them. */
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
