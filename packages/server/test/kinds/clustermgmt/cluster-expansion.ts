/** Requests by which suites that cover every kind add nodes to a cluster, and remove them. */
import { type NodeFact, nodeFacts } from '../../../src/drivers/simulated/nodes.ts'
import type { SimulatedWorld } from '../../../src/drivers/simulated/world.ts'
import { type Asked, completed } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { at } from '../../support/field-bases.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'
import { nodeId } from './unconfigured-node.ts'

const expand = `${clustermgmt}/clusters/${ids.native}/$actions/expand-cluster`
const remove = `${clustermgmt}/clusters/${ids.native}/$actions/remove-node`

const expansion = (...letters: ('a' | 'b' | 'c')[]): object => ({
  nodeParams: { nodeList: letters.map((letter) => ({ nodeUuid: nodeId(letter) })) },
})
/** An expansion that repeats every field of the discovered node. */
function described(world: SimulatedWorld): object {
  const { block, position, interfaceName, hypervisor, softwareVersion } = nodeFacts(world).get(nodeId('a')) as NodeFact
  const node = {
    nodeUuid: nodeId('a'),
    blockId: block.serialNumber,
    model: block.model,
    nodePosition: position,
    hypervisorVersion: hypervisor.version,
    nosVersion: softwareVersion,
    currentNetworkInterface: interfaceName,
  }
  const blockList = [{ blockId: block.serialNumber, rackName: 'rack-1' }]
  return { nodeParams: { nodeList: [node], blockList } }
}
const asked = (path: string, body: object): Asked => ({ method: 'POST', path, body })
const removal = { nodeUuids: [hostId('hp-n01-b')] }

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.check-expansion': async () => asked(expand, { ...expansion('a'), shouldSkipAddNode: true }),
  'clustermgmt.check-node-removal': async () => asked(remove, { ...removal, shouldSkipRemove: true }),
  'clustermgmt.expand-cluster': async () => asked(expand, expansion('a', 'c')),
  'clustermgmt.join-node': async () => asked(expand, expansion('a', 'c')),
  'clustermgmt.remove-nodes': async (app) => {
    await completed(app, 'POST', expand, { body: expansion('a') })
    return asked(remove, { nodeUuids: [nodeId('a')] })
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.expandCluster': [
    at(expand, { ...expansion('a'), shouldSkipAddNode: true }),
    async ({ world }) => ({ path: expand, body: { ...described(world), shouldSkipAddNode: true } }),
  ],
  'clustermgmt.removeNode': [at(remove, { ...removal, shouldSkipRemove: true })],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  expandCluster: ({ draw }) => walk.post(expand, expansion(draw.of(['a', 'b', 'c']))),
  removeNode: ({ draw }) => walk.post(remove, { nodeUuids: [draw.of([nodeId('a'), nodeId('b')])] }),
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'clustermgmt.remove-nodes': 'data that has moved stays where it is',
}
