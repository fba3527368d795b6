import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { filterOf } from '../../core/standard.ts'
import type { ReadContext } from '../context.ts'

/** Entities of another kind than that of the operation, as far as the caller may see them. */
export async function seen<R extends AnyResource>(
  { caller, operation, services, store }: Pick<ReadContext, 'caller' | 'operation' | 'services' | 'store'>,
  kind: R,
): Promise<EntityOf<R>[]> {
  const scope = await services.access.referScope(caller, operation, kind)
  return scope === undefined ? [] : store.find(kind, { scope: filterOf(scope) })
}
