/** Requests by which suites that cover every kind ask about nodes of no cluster. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { Asked } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt, ids } from '../../support/clustermgmt.ts'
import { at } from '../../support/field-bases.ts'
import { ip } from '../../support/vpcs.ts'
import type { FactOwner, FieldBase, RestartScenario } from '../kind.ts'

/** Unconfigured nodes of the demo. */
export const nodeId = (letter: 'a' | 'b' | 'c'): string => seedId(`node/hp-u01-${letter}`)

const actions = `${clustermgmt}/clusters/${ids.native}/$actions`
const uplinks = { name: 'br0', uplinks: { active: [{ name: 'eth0' }] } }
const bodies = {
  'discover-unconfigured-nodes': {},
  'fetch-node-networking-details': { nodeList: [{ cvmIp: ip('10.44.1.61') }] },
  'validate-node': { spec: [{ cvmIp: ip('10.44.1.61'), networks: [uplinks] }] },
  'check-hypervisor-requirements': { nodeList: [{ nodeUuid: nodeId('a') }] },
}
const bundle = { spec: { bundleInfo: { name: 'hypervisor-AHV-10.3' }, nodeList: [{ nodeUuid: nodeId('a') }] } }

const asked = (action: keyof typeof bodies, body: object = bodies[action]): Asked => ({
  method: 'POST',
  path: `${actions}/${action}`,
  body,
})

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.check-hypervisor-requirements': async () => asked('check-hypervisor-requirements'),
  'clustermgmt.discover-unconfigured-nodes': async () => asked('discover-unconfigured-nodes'),
  'clustermgmt.fetch-node-networking-details': async () => asked('fetch-node-networking-details'),
  'clustermgmt.validate-node-bundle': async () => asked('validate-node', bundle),
  'clustermgmt.validate-node-uplinks': async () => asked('validate-node'),
}

const baseOf = (action: keyof typeof bodies, body: object = bodies[action]): FieldBase =>
  at(`${actions}/${action}`, body)

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.checkHypervisorRequirements': [baseOf('check-hypervisor-requirements')],
  'clustermgmt.discoverUnconfiguredNodes': [baseOf('discover-unconfigured-nodes')],
  'clustermgmt.fetchNodeNetworkingDetails': [baseOf('fetch-node-networking-details')],
  'clustermgmt.validateNode': [baseOf('validate-node'), baseOf('validate-node', bundle)],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  discoverNodes: () => walk.post(`${actions}/discover-unconfigured-nodes`, {}),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.nodes': ({ machines }) => machines(),
}
