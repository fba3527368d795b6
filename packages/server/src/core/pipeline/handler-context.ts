import type { Reader } from '../../store/store.ts'
import type { ReadContext } from '../context.ts'
import { both, filterOf } from '../standard.ts'
import type { Call, Targets } from './call.ts'
import type { MutationMachinery } from './machinery.ts'

export function readContext<D>(
  { world, store, kinds, access, log }: MutationMachinery<D>,
  { request, operation, caller, scope, version, warnings, ids, parts }: Call,
  reader: Reader,
  targets: Targets,
): ReadContext<D> {
  return {
    ...world,
    ids,
    operation,
    caller,
    store: reader,
    kinds,
    version,
    target: targets.row?.entity,
    parents: targets.parents,
    scopeOf: async (kind) => {
      const resource = kinds.resource(kind)
      if (resource === undefined) return 'none'
      const view = await access.viewScope(caller, resource)
      // An operation about entities of another kind (statistics): its own scope applies as well.
      const isJudged = kind === access.scopedKind(operation) && kind !== operation.resource?.kind
      if (view !== undefined) return isJudged ? both(filterOf(view), filterOf(scope)) : filterOf(view)
      const isHeldByRole = isJudged && (await access.reachOfUnseen(caller, operation, resource)) === 'by role'
      return isHeldByRole ? filterOf(scope) : 'none'
    },
    unknown: request.unknown,
    warn: (message) => void warnings.push(message),
    followsStore: () => void parts.followStore++,
    noteUse: (write) => {
      store
        .transaction(write)
        .catch((error) => log.error({ err: error, operation: operation.key }, 'a use could not be noted'))
    },
  }
}
