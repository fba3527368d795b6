import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Boot, bootTimes, phaseAt } from './guest.ts'

const boot = (more: Partial<Boot> = {}): Boot => ({
  seed: 'world/vm/0',
  startedAt: 1_000_000,
  os: 'linux',
  hasPendingCustomization: false,
  isInstant: false,
  ...more,
})

test('an instant guest is up with its tools within a second', () => {
  for (const os of ['linux', 'windows', 'installer'] as const) {
    const times = bootTimes(boot({ os, isInstant: true, hasPendingCustomization: true }))
    assert.ok(times.toolsAt <= 1_000_000 + 1000)
    assert.equal(phaseAt(times, 1_001_000), 'running')
  }
})

test('a natural guest passes every phase in order, within its bounds', () => {
  const times = bootTimes(boot({ hasPendingCustomization: true }))
  const { firmware, loader, kernel, network, customization } = times.ends
  const seconds = [
    firmware - 1_000_000,
    loader - firmware,
    kernel - loader,
    network - kernel,
    customization - network,
  ].map((ms) => ms / 1000)
  const bounds = [
    [1, 3],
    [1, 3],
    [5, 15],
    [1, 4],
    [5, 20],
  ] as const
  for (const [index, [least, most]] of bounds.entries())
    assert.ok((seconds[index] as number) >= least && (seconds[index] as number) <= most)
  const phases = [0, firmware, loader, kernel, network, customization].map((at) =>
    phaseAt(times, Math.max(at, 1_000_000)),
  )
  assert.deepEqual(phases, ['firmware', 'loader', 'kernel', 'network', 'customization', 'running'])
})

test('a guest without a bootable device stays in the boot loader', () => {
  const times = bootTimes(boot({ os: undefined }))
  assert.equal(phaseAt(times, 9e15), 'loader')
  assert.equal(times.toolsAt, Number.POSITIVE_INFINITY)
})

test('equal starts have equal durations, different starts do not', () => {
  assert.deepEqual(bootTimes(boot()), bootTimes(boot()))
  assert.notDeepEqual(bootTimes(boot()), bootTimes(boot({ seed: 'world/vm/1' })))
})
