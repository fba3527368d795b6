/**
 * Exports a running world as a seed, streamed from a snapshot: memory does not grow with the world. Unfinished tasks prevent an export, as
 * they hold secrets and belong to a process. Contents of files are not exported.
 */

import type { EntityOf } from '@hyperplane/contract'
import { Task } from '@hyperplane/contract/platform/task'
import { startCommand } from '../core/command-name.ts'
import { unfinished } from '../core/tasks/runner.ts'
import { Fact } from '../drivers/simulated/world.ts'
import { SqliteSnapshot } from '../store/sqlite/snapshot.ts'
import type { Table } from '../store/tables.ts'
import { entityLine, factLine, groupLine } from './exact-rows.ts'
import {
  factHoldsLeftOut,
  holdsLeftOut,
  isLeftOutCollection,
  LeftOut,
  leaveOutOfEntity,
  leaveOutOfFact,
} from './left-out.ts'

export interface ExportedWorld {
  readonly file: string
  readonly tables: ReadonlyMap<string, Table>
  readonly version: string
  readonly time: string
}

export class UnfinishedTasks extends Error {
  /** @param tasks names of some of the `count` tasks, for people */
  constructor(count: number, tasks: readonly string[]) {
    const many = count === 1 ? '1 task has' : `${count} tasks have`
    const more = count > tasks.length ? `, and ${count - tasks.length} more` : ''
    super(`${many} not ended: ${tasks.join(', ')}${more}.`)
  }
}

const listedTasks = 10

const chunkLength = 64 * 1024

/** @throws UnfinishedTasks before the first chunk */
export async function* exportSeed(world: ExportedWorld): AsyncGenerator<string> {
  const snapshot = new SqliteSnapshot(world.file)
  try {
    refuseUnfinished(snapshot, world.tables)
    let chunk = ''
    for (const text of textOf(snapshot, world)) {
      chunk += text
      if (chunk.length < chunkLength) continue
      yield chunk
      chunk = ''
      // Yields to the event loop, however fast the consumer reads.
      await new Promise(setImmediate)
    }
    if (chunk !== '') yield chunk
  } finally {
    snapshot.close()
  }
}

function refuseUnfinished(snapshot: SqliteSnapshot, tables: ReadonlyMap<string, Table>): void {
  const { name, columnOf } = tables.get(Task.kind) as Table
  const column = columnOf.get('status') as string
  const listed: string[] = []
  let count = 0
  for (const value of unfinished)
    for (const { document } of snapshot.rows(name, { column, value })) {
      if (++count > listedTasks) continue
      const { operationDescription, extId, progressPercentage = 0 } = JSON.parse(document) as Task
      listed.push(`${operationDescription} (${extId}, ${value}, ${progressPercentage} %)`)
    }
  if (count > 0) throw new UnfinishedTasks(count, listed)
}

function* textOf(snapshot: SqliteSnapshot, { tables, version, time }: ExportedWorld): Generator<string> {
  const leftOut = new LeftOut()
  yield `# A world of Hyperplane ${version}, as it was at ${time}. This is a seed: ${startCommand} --data NEW --seed THIS.yaml\n`
  yield '# The section leftOut at the end names what the export does not contain.\n'
  yield 'extends: nothing\n'
  yield `random: ${JSON.stringify(snapshot.meta('world.seed') ?? '')}\n`
  yield `world:\n  tenantId: ${snapshot.meta('tenant')}\n  time: ${time}\n`
  yield 'entities:\n'
  for (const table of tables.values()) yield* entitiesOf(snapshot, table, leftOut)
  yield 'facts:\n'
  yield* factsOf(snapshot, tables.get(Fact.kind) as Table, leftOut)
  const notes = leftOut.all()
  yield notes.length === 0 ? 'leftOut: []\n' : 'leftOut:\n'
  for (const note of notes) yield `  - ${JSON.stringify(note)}\n`
}

function* entitiesOf(snapshot: SqliteSnapshot, table: Table, leftOut: LeftOut): Generator<string> {
  const { kind, leftOut: omitted } = table.resource
  const isPlain = !holdsLeftOut(table)
  let count = 0
  for (const { document, published } of snapshot.rows(table.name)) {
    if (published === 0) throw new Error(`${kind} is half made, and no task is under way`)
    count++
    if (omitted !== undefined) continue
    if (count === 1) yield groupLine(kind)
    if (isPlain) yield entityLine(document)
    else {
      const entity = JSON.parse(document)
      leaveOutOfEntity(table, entity, leftOut)
      yield entityLine(JSON.stringify(entity))
    }
  }
  if (omitted !== undefined && omitted !== 'unmentioned') leftOut.note(omitted, count)
}

function* factsOf(snapshot: SqliteSnapshot, table: Table, leftOut: LeftOut): Generator<string> {
  for (const collection of snapshot.distinct(table.name, 'c_collection')) {
    if (isLeftOutCollection(collection)) {
      leftOut.noteCollection(collection)
      continue
    }
    yield groupLine(collection)
    for (const { document } of snapshot.rows(table.name, { column: 'c_collection', value: collection })) {
      const { id, value } = JSON.parse(document) as EntityOf<typeof Fact>
      if (factHoldsLeftOut(collection)) leaveOutOfFact(collection, value as Record<string, unknown>, leftOut)
      yield factLine(id, JSON.stringify(value))
    }
  }
}
