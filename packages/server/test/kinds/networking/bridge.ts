/** Requests by which suites that cover every kind reach bridges without a virtual switch. */
import { named } from '../../support/field-bases.ts'
import { bridges, freeBridge } from '../../support/virtual-switches.ts'
import { type Creation, type FieldBase, nativeCluster, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const body = (name: string, existingBridgeName = 'br2') => ({
  name,
  existingBridgeName,
  clusterReference: nativeCluster,
})

export const creations: Readonly<Record<string, Creation>> = {
  'networking.migrateBridge': { path: bridges, body, isRandom: true, prepare: (app) => freeBridge(app, 'br2') },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.migrateBridge': {
    path: '/config/virtual-switches/$actions/migrate',
    body: { ...body('by-order'), metadata: { categoryIds: [unknown] } },
    broken: { clusterReference: unknown },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.migrate-bridge': async () => ({ method: 'POST', path: bridges, body: body('killed') }),
}

let number = 20
export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.migrateBridge': [
    async (app) => {
      const bridge = `br${number++}`
      await freeBridge(app, bridge)
      return { path: bridges, body: body(named(), bridge) }
    },
  ],
}
