/** What a fault that strikes a request may do with it. Source: behaviour conventions 23. */

import { limitAt } from '../access/rate-limit.ts'
import type { RequestSite } from '../faults.ts'
import type { Call, Targets } from './call.ts'
import type { Machinery } from './machinery.ts'
import { targetsSeen } from './targets.ts'

export class FaultSite<D> implements RequestSite {
  readonly #machinery: Machinery<D>
  readonly #call: Call
  #targets: Targets | undefined

  /** @param found what the path names, where it was looked up for its name */
  constructor(machinery: Machinery<D>, call: Call, found: Targets | undefined) {
    this.#machinery = machinery
    this.#call = call
    this.#targets = found
  }

  async names(): Promise<readonly string[]> {
    this.#targets ??= await targetsSeen(this.#machinery, this.#call)
    return namesOf(this.#call, this.#targets)
  }

  async messageArguments(): Promise<Readonly<Record<string, string>>> {
    const { operation, input, request } = this.#call
    const { rateLimit } = operation
    return {
      kind: operation.resource?.title ?? operation.stem,
      id: (operation.target === undefined ? undefined : input.path[operation.target]) ?? '',
      name: (await this.names())[0] ?? '',
      operation: operation.iamOperation,
      requestId: request.onBehalfOf?.requestId ?? request.echoedId ?? '',
      bucket: operation.id,
      limit: String(limitAt(rateLimit, this.#machinery.world.services.tier)),
      unit: rateLimit.per,
    }
  }

  async writeTarget(): Promise<void> {
    // Asked again: what came before may have taken long.
    const { named } = (await targetsSeen(this.#machinery, this.#call)) ?? {}
    if (named === undefined) return
    const { kind, entity } = named
    await this.#machinery.store.transaction(async (transaction) => {
      if ((await transaction.get(kind, entity.extId)) !== undefined) await transaction.touch(kind, entity.extId)
    })
  }
}

/** Names of what is made or meant. @param found what the path names */
export function namesOf({ input }: Call, found: Targets | undefined): readonly string[] {
  const names: string[] = []
  addNames(names, found?.row?.entity)
  addNames(names, input.body)
  return names
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
