/** What a fault that strikes a request may do with it. Source: behaviour conventions 23. */
import type { RequestSite } from '../faults.ts'
import { limitAt } from '../rate-limit.ts'
import type { Call } from './call.ts'
import type { Machinery } from './machinery.ts'
import { findTargets, noTargets, type Targets } from './targets.ts'

export interface FaultSite extends RequestSite {
  /** What the path names, where it was looked up for its name. */
  readonly found: Targets | undefined
}

export function faultSite<D>(machinery: Machinery<D>, call: Call): FaultSite {
  const { world, store } = machinery
  let found: Targets | undefined
  const namesIn = ({ row }: Targets): readonly string[] => {
    const names: string[] = []
    addNames(names, row?.entity)
    addNames(names, call.input.body)
    return names
  }
  const names = (): Promise<readonly string[]> => {
    if (found !== undefined) return Promise.resolve(namesIn(found))
    return findTargets(machinery, store, call).then(
      (targets) => {
        found = targets
        return namesIn(targets)
      },
      // What is not there, or not to be seen, the request is told soon enough.
      () => namesIn(noTargets),
    )
  }
  return {
    get found() {
      return found
    },
    names,
    async told() {
      const { operation, input, request } = call
      const { rateLimit } = operation
      return {
        kind: operation.resource?.title ?? operation.stem,
        id: (operation.target === undefined ? undefined : input.path[operation.target]) ?? '',
        name: (await names())[0] ?? '',
        operation: operation.iamOperation,
        requestId: request.onBehalfOf?.requestId ?? request.echoedId ?? '',
        bucket: operation.id,
        limit: String(limitAt(rateLimit, world.services.tier)),
        unit: rateLimit.per,
      }
    },
    async writeTarget() {
      // Asked again: what came before may have taken long.
      const { named } = await findTargets(machinery, store, call).catch(() => noTargets)
      if (named === undefined) return
      const { kind, entity } = named
      await store.transaction(async (transaction) => {
        if ((await transaction.get(kind, entity.extId)) !== undefined) await transaction.touch(kind, entity.extId)
      })
    },
  }
}

/** Fields by which people call an entity. */
const nameFields = [
  'name',
  'username',
  'displayName',
  'hostName',
  'containerName',
  'iscsiInitiatorName',
  'nvmfInitiatorName',
] as const

function addNames(names: string[], entity: any): void {
  if (typeof entity !== 'object' || entity === null) return
  for (const field of nameFields) if (typeof entity[field] === 'string') names.push(entity[field])
  // A manager is called by what it is configured to be, a category by its pair.
  if (typeof entity.config?.name === 'string') names.push(entity.config.name)
  if (typeof entity.key === 'string' && typeof entity.value === 'string') names.push(`${entity.key}/${entity.value}`)
}
