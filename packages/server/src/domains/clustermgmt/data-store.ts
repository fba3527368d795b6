/** Source: behaviour clustermgmt.md 1.9. */
import { DataStore, dataStoreOperations } from '@hyperplane/contract/clustermgmt/data-store'
import { withSpace } from '../containers/views.ts'
import { implement } from '../context.ts'

export const dataStore = implement(dataStoreOperations, {}, { present: [[DataStore, withSpace]] })
