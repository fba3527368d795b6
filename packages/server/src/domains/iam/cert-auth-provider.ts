/** Certificate authentication providers: the list; nothing creates one yet. Source: behaviour iam.md 5. */
import { certAuthProviderOperations } from '@hyperplane/contract/iam/cert-auth-provider'
import { implement } from '../context.ts'

export const certAuthProvider = implement(certAuthProviderOperations, {})
