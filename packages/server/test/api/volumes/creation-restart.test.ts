/**
 * A volume group whose creation was cut off: a copy of the data folder, taken while a step stands, is what a killed process
 * leaves behind. Source: behaviour volumes-storage.md 5 (statement 30); conventions 18.3.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { blockDiskFacts, targetFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { startApp } from '../../support/start-app.ts'
import { GiB, groups, nameOf, postGroup, usageOf } from '../../support/volumes.ts'

const cuts = [
  { step: 'create disks', phase: 'run' },
  { step: 'create disks', phase: 'record' },
  { step: 'publish', phase: 'record' },
] as const

for (const { step, phase } of cuts) {
  test(`cut off at "${step}" (${phase}), a group with 10 disks is whole after the restart`, async () => {
    const [reached, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = await startApp({
      beforeStep: async (definition, at, during) => {
        if (definition !== 'volumes.create-volume-group' || at !== step || during !== phase) return
        reached.resolve()
        await held.promise
      },
    })
    const before = await usageOf(first)
    const name = nameOf('cut')
    const disks = Array.from({ length: 10 }, () => ({ diskSizeBytes: GiB }))
    const { data } = await postGroup(first, { name, disks })
    await reached.promise
    assert.equal((await first.call('GET', `${groups}?$filter=name eq '${name}'`)).total, 0)
    const folder = mkdtempSync(join(tmpdir(), 'hyperplane-test-'))
    cpSync(first.folder, folder, { recursive: true, filter: (path) => !path.endsWith('lock') })
    held.resolve()
    await first.runner.idle()
    await first.close()

    const second = await startApp({ folder })
    try {
      const task = await second.task(data.extId)
      assert.equal(task.status, 'SUCCEEDED')
      const extId = task.entitiesAffected[0].extId
      assert.equal((await second.call('GET', `${groups}/${extId}/disks`)).total, 10)
      const facts = [...blockDiskFacts(second.world).all().values()].filter((fact) => fact.volumeGroupExtId === extId)
      assert.deepEqual(
        facts.map(({ index }) => index).sort((a, b) => a - b),
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      )
      assert.ok(facts.every(({ isPublished }) => isPublished))
      assert.ok(targetFacts(second.world).get(extId))
      assert.deepEqual(await usageOf(second), before)
    } finally {
      await second.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })
}
