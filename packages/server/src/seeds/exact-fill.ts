import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { UniqueViolation } from '../store/store.ts'
import { eachReference, type Table } from '../store/tables.ts'
import type { SeedContext } from './context.ts'
import { isLeftOutCollection, restoreInEntity, restoreInFact } from './left-out.ts'
import type { SeedPlan } from './read-seed.ts'
import { maximumFaults, type SeedFault } from './seed-refusal.ts'
import { standInsOf } from './stand-ins.ts'

/** @returns faults: dangling references and duplicates */
export async function fillExactly(ctx: SeedContext, { rows }: SeedPlan): Promise<readonly SeedFault[]> {
  const standIns = standInsOf(ctx.ids.secretBytes(32), ctx.adminPasswordHash)
  const faults: SeedFault[] = []
  /** `kind id` of a referenced entity that was not read yet -> first reference. */
  const awaited = new Map<string, SeedFault>()
  const there = new Set<string>()
  for await (const { group, line, column, value } of rows.entities()) {
    const table = ctx.backup.tables.get(group) as Table
    const document = restoreInEntity(table, value() as Record<string, unknown>, standIns)
    const at = { line, column, path: `entities.${group}` }
    try {
      await ctx.store.insert(table.resource, document as EntityOf<AnyResource>)
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error
      faults.push({ ...at, message: `there is one already with the same ${error.fields.join(' and ') || 'id'}` })
    }
    if (faults.length >= maximumFaults) return faults
    const own = `${group} ${document['extId']}`
    there.add(own)
    awaited.delete(own)
    for (const { kind, extId, path } of eachReference(table, document)) {
      const key = `${kind} ${extId}`
      if (there.has(key) || awaited.has(key)) continue
      awaited.set(key, { ...at, message: `${path} names the ${kind} ${extId}, which is not there` })
    }
  }
  for (const [key, fault] of awaited) {
    const [kind = '', extId = ''] = key.split(' ')
    const table = ctx.backup.tables.get(kind)
    if (table !== undefined && (await ctx.store.get(table.resource, extId)) === undefined) faults.push(fault)
  }
  for await (const { group, id = '', value } of rows.facts()) {
    if (isLeftOutCollection(group)) continue
    await ctx.world.collection(group).put(id, restoreInFact(group, id, value() as Record<string, unknown>, standIns))
  }
  return faults
}
