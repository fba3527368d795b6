/** A restore never overwrites a manager in use: only an empty world is fresh. Source: behaviour platform.md 9. */
import { contract } from '@hyperplane/contract'
import { ApiError } from '../../../core/api-error.ts'
import type { Reader } from '../../../store/store.ts'

const kinds = [...new Set(contract.flatMap(({ resources }) => resources))].filter(({ derived }) => derived !== true)

/** @throws ApiError 409 that lists the other rows */
export async function requireFresh(store: Reader): Promise<void> {
  const found: string[] = []
  for (const kind of kinds) {
    const { isInNewWorld } = kind
    let count = await store.count(kind)
    if (count > 0 && isInNewWorld !== undefined)
      count = (await store.find(kind)).filter((row) => !isInNewWorld(row)).length
    if (count > 0) found.push(`${count} of the kind ${kind.title}`)
  }
  if (found.length > 0) throw new ApiError('INSTANCE_NOT_FRESH', { found: found.join(', ') })
}
