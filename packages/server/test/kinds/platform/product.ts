/** Requests by which suites that cover every kind reach products. */

import { tagged } from '../../restart/asked.ts'
import { ownPath } from '../../support/registering.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'platform.updateProductById': [
    async (app) => {
      const [product] = (await app.call('GET', `${ownPath}/products?$filter=name eq 'SELF_SERVICE'`)).data
      return { path: `${ownPath}/products/${product.extId}`, body: { enablementState: product.enablementState } }
    },
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'platform.update-product': async (app) => {
    const [product] = (await app.call('GET', `${ownPath}/products?$filter=name eq 'SELF_SERVICE'`)).data
    return tagged(app, 'PUT', `${ownPath}/products/${product.extId}`, { enablementState: 'ENABLED' })
  },
}
