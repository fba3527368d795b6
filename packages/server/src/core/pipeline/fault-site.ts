import { limitAt } from '../access/rate-limit.ts'
import type { RequestSite } from '../faults.ts'
import { type Call, type Targets, valueAt } from './call.ts'
import type { Machinery } from './machinery.ts'
import { targetsSeen } from './targets.ts'

export class FaultSite<D> implements RequestSite {
  readonly #machinery: Machinery<D>
  readonly #call: Call
  #targets: Targets | undefined

  constructor(machinery: Machinery<D>, call: Call, found: Targets | undefined) {
    this.#machinery = machinery
    this.#call = call
    this.#targets = found
  }

  async names(): Promise<readonly string[]> {
    this.#targets ??= await targetsSeen(this.#machinery, this.#call)
    return namesForFaultRules(this.#call, this.#targets)
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
    // Looked up again, because the steps before may have taken long.
    const { named } = (await targetsSeen(this.#machinery, this.#call)) ?? {}
    if (named === undefined) return
    const { kind, entity } = named
    await this.#machinery.store.transaction(async (transaction) => {
      if ((await transaction.get(kind, entity.extId)) !== undefined) await transaction.touch(kind, entity.extId)
    })
  }
}

export const namesForFaultRules = ({ input }: Call, found: Targets | undefined): readonly string[] => [
  ...namesOfEntity(found?.row?.entity),
  ...namesOfEntity(input.body),
]

export const nameFields = [
  'name',
  'username',
  'displayName',
  'hostName',
  'containerName',
  'iscsiInitiatorName',
  'nvmfInitiatorName',
] as const

export function namesOfEntity(entity: unknown): string[] {
  // The name of a domain manager is in its configuration; a category is named by key and value.
  const [key, value] = [valueAt(entity, 'key'), valueAt(entity, 'value')]
  const pair = typeof key === 'string' && typeof value === 'string' ? `${key}/${value}` : undefined
  const names = [...nameFields, 'config/name'].map((field) => valueAt(entity, field))
  return [...names, pair].filter((name) => typeof name === 'string')
}
