/** Requests by which suites that cover every kind reach batches. */

import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, named } from '../../support/field-bases.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'
import { walkersVm } from '../vmm/vm.ts'
import { category } from './category.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'platform.submitBatch': [
    async () => ({
      path: '/platform/v4.3/operations/$actions/batch',
      body: {
        metadata: { action: 'CREATE', name: named(), uri: '/api/platform/v4.3/config/categories' },
        payload: [{ data: category() }],
      },
    }),
    async (app) => ({
      path: '/platform/v4.3/operations/$actions/batch',
      body: {
        metadata: { action: 'DELETE', name: named(), uri: '/api/platform/v4.3/config/categories/{extId}' },
        payload: [
          {
            metadata: {
              headers: [{ name: 'If-Match', value: 'x' }],
              path: [
                {
                  name: 'extId',
                  value: (await createdPath(app, '/platform/v4.3/config/categories', category())).slice(-36),
                },
              ],
            },
          },
        ],
      },
    }),
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'platform.run-batch': async () => ({
    method: 'POST',
    path: '/platform/v4.3/operations/$actions/batch',
    body: {
      metadata: { action: 'CREATE', name: 'killed', uri: '/api/platform/v4.3/config/categories', chunkSize: 2 },
      payload: Array.from({ length: 5 }, (_, index) => ({ data: { key: 'killed', value: String(index) } })),
    },
  }),
}

const element = (data: object): object => ({ data })

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createManyCategories: ({ model, draw }) =>
    walk.post('/platform/v4.3/operations/$actions/batch', {
      metadata: {
        action: 'CREATE',
        name: 'walk',
        uri: `/api${walk.collections.categories}`,
        chunkSize: draw.of([1, 3]),
        shouldStopOnError: draw.isOneIn(2),
      },
      // Some pairs are there already: those elements fail.
      payload: draw
        .some([1, 1, 2, 3, 4], 5)
        .map((value) => element({ key: `many-${model.number() % 3}`, value: `v${value}` })),
    }),
  createManyVms: (asking) =>
    walk.post('/platform/v4.3/operations/$actions/batch', {
      metadata: {
        action: 'CREATE',
        name: 'walk',
        uri: `/api${walk.collections.vms}`,
        chunkSize: asking.draw.of([1, 3]),
      },
      payload: [1, 2, 3].map(() => element(walkersVm(asking))),
    }),
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'platform.run-batch': 'what elements did stays, as if they had been sent one by one',
}
