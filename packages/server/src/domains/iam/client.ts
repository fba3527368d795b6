/** Registered clients: the services of this product. Source: behaviour iam.md 7. */
import { Client, clientOperations } from '@hyperplane/contract/iam/client'
import { itemWithId } from '../../core/standard.ts'
import { implement } from '../context.ts'
import { iamClients } from './catalogue/clients.ts'

export const client = implement(clientOperations, {
  getRegisteredClientById: async (ctx, { path }) => ({
    ...itemWithId(iamClients, Client, path.extId),
    tenantId: ctx.tenantId,
  }),
})
