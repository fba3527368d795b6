import { catalogueId } from '../../core/ids/named-id.ts'

/** The provider of LOCAL users and service accounts. */
export const localProviderId = catalogueId('loginProvider', 'local')
