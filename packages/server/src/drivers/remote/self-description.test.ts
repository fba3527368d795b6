import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RemoteFault } from '../remote-managers.ts'
import { type SelfDescription, sideOf } from './self-description.ts'

const address = '10.9.9.9'
const extId = '9f3c1c4e-6f0a-4e0f-8d5b-0f2a5e9c1b7d'
const told = {
  extId,
  config: { name: 'far', size: 'LARGE', buildInfo: { version: '1.2.0' } },
  network: { externalNetworks: [{ ipAddresses: [{ ipv4: { value: '10.9.9.10' } }, { ipv4: { value: 'far' } }, {}] }] },
  nodeExtIds: [extId, extId, extId],
} satisfies SelfDescription

test('the self-description of a manager is read; invalid node addresses are left out', () => {
  assert.deepEqual(sideOf(told, address), {
    extId,
    name: 'far',
    type: 'DOMAIN_MANAGER',
    version: '1.2.0',
    nodeAddresses: ['10.9.9.10'],
    manager: { size: 'LARGE', isHighlyAvailable: true },
  })
})

const wrong: readonly (readonly [string, object])[] = [
  ['an id', { extId: "x' or 1 eq 1" }],
  ['config/name', { config: { ...told.config, name: 'n'.repeat(81) } }],
  ['config/name', { config: { ...told.config, name: { text: 'far' } } }],
  ['config/size', { config: { ...told.config, size: 'HUGE' } }],
  ['config/buildInfo/version', { config: { ...told.config, buildInfo: { version: 'new' } } }],
]
for (const [field, change] of wrong) {
  test(`refuses ${JSON.stringify(change).slice(0, 60)}`, () => {
    assert.throws(
      () => sideOf({ ...told, ...change } as SelfDescription, address),
      (error) => error instanceof RemoteFault && error.reason === 'refused' && error.message.includes(field),
    )
  })
}
