/** VPC tasks create and delete route tables. Source: behaviour networking.md 1.6. */
import { routeTableOperations } from '@hyperplane/contract/networking/route-table'
import { implement } from '../context.ts'

export const routeTable = implement(routeTableOperations, {})
