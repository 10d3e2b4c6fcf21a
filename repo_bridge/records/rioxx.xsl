<?xml version="1.0" encoding="UTF-8"?>
<!-- Rioxx 3.0, the profile that CORE asks for, from an item in XOAI. Values that are no URIs or dates where it wants them are left out. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:doc="http://www.lyncode.com/xoai"
  xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"
  xmlns:rioxxterms="http://docs.rioxx.net/schema/v3.0/rioxxterms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xmlns:map="urn:map" exclude-result-prefixes="doc map">
  <xsl:include href="coar.xsl"/>

  <xsl:variable name="uris" select="key('field', 'dc.identifier.uri')[starts-with(., 'http')]"/>
  <xsl:variable name="persistent" select="$uris[contains(., 'doi.org/') or contains(., 'hdl.handle.net/')]"/>
  <xsl:variable name="handle" select="$others/doc:field[@name='handle']"/>
  <xsl:variable name="site" select="/doc:metadata/doc:element[@name='repository']/doc:field[@name='url']"/>
  <xsl:variable name="deposited" select="key('field', 'dc.date.accessioned')[contains(' 0000 0000-00 0000-00-00 ', concat(' ', translate(substring-before(concat(., 'T'), 'T'), '123456789', '000000000'), ' '))][1]"/>
  <xsl:variable name="opened" select="key('field', 'dcterms.available')[contains(' 0000 0000-00 0000-00-00 ', concat(' ', translate(substring-before(concat(., 'T'), 'T'), '123456789', '000000000'), ' '))]"/>
  <xsl:variable name="available" select="($opened | key('field', 'dc.date.available')[not($opened)][contains(' 0000 0000-00 0000-00-00 ', concat(' ', translate(substring-before(concat(., 'T'), 'T'), '123456789', '000000000'), ' '))])[1]"/>
  <xsl:variable name="accepted" select="(key('field', 'dcterms.dateAccepted') | key('field', 'dc.date.accepted'))[contains(' 0000 0000-00 0000-00-00 ', concat(' ', translate(substring-before(concat(., 'T'), 'T'), '123456789', '000000000'), ' '))][1]"/>

  <xsl:template match="/doc:metadata">
    <rioxx xsi:schemaLocation="http://www.rioxx.net/schema/v3.0/rioxx/ http://www.rioxx.net/schema/v3.0/rioxx/rioxx.xsd">
      <xsl:for-each select="key('element', 'dc.coverage')"><dc:coverage><xsl:value-of select="."/></dc:coverage></xsl:for-each>
      <xsl:for-each select="key('field', 'dc.description.abstract')"><dc:description><xsl:value-of select="."/></dc:description></xsl:for-each>
      <xsl:choose>
        <xsl:when test="$site != '' and $handle != ''"><dc:identifier><xsl:value-of select="concat($site, '/handle/', $handle)"/></dc:identifier></xsl:when>
        <xsl:when test="$uris"><dc:identifier><xsl:value-of select="($uris[not(contains(., 'doi.org/'))] | $uris[not($uris[not(contains(., 'doi.org/'))])])[1]"/></dc:identifier></xsl:when>
      </xsl:choose>
      <xsl:for-each select="key('element', 'dc.language')">
        <xsl:variable name="code"><xsl:call-template name="iso639"/></xsl:variable>
        <xsl:if test="$code != ''"><dc:language><xsl:value-of select="$code"/></dc:language></xsl:if>
      </xsl:for-each>
      <xsl:for-each select="$persistent"><dc:relation rel="cite-as"><xsl:value-of select="."/></dc:relation></xsl:for-each>
      <xsl:for-each select="$files">
        <dc:relation rel="item" coar_type="{$coar}resource_type/{$type/@uri}" access_rights="{$coar}access_right/c_abf2">
          <xsl:for-each select="doc:field[@name='format']"><xsl:attribute name="type"><xsl:value-of select="."/></xsl:attribute></xsl:for-each>
          <xsl:if test="$version"><xsl:attribute name="coar_version"><xsl:value-of select="concat($coar, 'version/', $version/@uri)"/></xsl:attribute></xsl:if>
          <xsl:for-each select="$deposited"><xsl:attribute name="deposit_date"><xsl:call-template name="day"/></xsl:attribute></xsl:for-each>
          <xsl:for-each select="$available"><xsl:attribute name="resource_exposed_date"><xsl:call-template name="day"/></xsl:attribute></xsl:for-each>
          <xsl:for-each select="$license"><xsl:attribute name="license_ref"><xsl:value-of select="."/></xsl:attribute></xsl:for-each>
          <xsl:value-of select="doc:field[@name='url']"/>
        </dc:relation>
      </xsl:for-each>
      <xsl:for-each select="(key('field', 'dc.identifier.issn') | key('field', 'dc.identifier.isbn'))[1]"><dc:source><xsl:value-of select="."/></dc:source></xsl:for-each>
      <xsl:for-each select="key('element', 'dc.subject')"><dc:subject><xsl:value-of select="."/></dc:subject></xsl:for-each>
      <xsl:for-each select="key('field', 'dc.title')[1]"><dc:title><xsl:value-of select="."/></dc:title></xsl:for-each>
      <dc:type><xsl:value-of select="concat($coar, 'resource_type/', $type/@uri)"/></dc:type>
      <xsl:for-each select="$accepted"><dcterms:dateAccepted><xsl:call-template name="day"/></dcterms:dateAccepted></xsl:for-each>
      <xsl:for-each select="key('element', 'dc.contributor')[../../@name != 'author']"><rioxxterms:contributor><xsl:call-template name="named"/></rioxxterms:contributor></xsl:for-each>
      <xsl:for-each select="$creators">
        <rioxxterms:creator>
          <xsl:if test="position() = 1"><xsl:attribute name="first-named-author">true</xsl:attribute></xsl:if>
          <xsl:call-template name="named"/>
        </rioxxterms:creator>
      </xsl:for-each>
      <xsl:for-each select="(key('field', 'rioxxterms.versionofrecord') | key('field', 'dc.identifier.doi'))[starts-with(., 'http') or starts-with(., '10.')][1]">
        <rioxxterms:ext_relation rel="cite-as" coar_type="{$coar}resource_type/{$type/@uri}" coar_version="{$coar}version/c_970fb48d4fbd8a85">
          <xsl:if test="starts-with(., '10.')">https://doi.org/</xsl:if><xsl:value-of select="."/>
        </rioxxterms:ext_relation>
      </xsl:for-each>
      <xsl:for-each select="key('element', 'dc.relation')">
        <xsl:variable name="of" select="key('authority', following-sibling::doc:field[1][@name='authority'][starts-with(., 'virtual::')])"/>
        <xsl:variable name="number" select="$of[../../@name='awardNumber']"/>
        <xsl:if test="$number and $of[../../../@name='funder' and ../../@name='name']">
          <rioxxterms:grant funder_name="{$of[../../../@name='funder' and ../../@name='name']}"><xsl:value-of select="$number"/></rioxxterms:grant>
        </xsl:if>
        <xsl:variable name="rest" select="substring-after(., 'info:eu-repo/grantAgreement/')"/>
        <xsl:if test="contains(substring-after($rest, '/'), '/')">
          <rioxxterms:grant funder_name="{substring-before($rest, '/')}"><xsl:value-of select="substring-before(concat(substring-after(substring-after($rest, '/'), '/'), '/'), '/')"/></rioxxterms:grant>
        </xsl:if>
      </xsl:for-each>
      <xsl:for-each select="key('field', 'dc.date.issued')[1]"><rioxxterms:publication_date><xsl:call-template name="day"/></rioxxterms:publication_date></xsl:for-each>
      <xsl:for-each select="key('field', 'dc.publisher')"><rioxxterms:publisher><rioxxterms:name><xsl:value-of select="."/></rioxxterms:name></rioxxterms:publisher></xsl:for-each>
      <xsl:for-each select="$deposited"><rioxxterms:record_public_release_date><xsl:call-template name="day"/></rioxxterms:record_public_release_date></xsl:for-each>
    </rioxx>
  </xsl:template>

  <xsl:template name="named">
    <xsl:variable name="id"><xsl:call-template name="orcid"/></xsl:variable>
    <rioxxterms:name><xsl:value-of select="."/></rioxxterms:name>
    <xsl:if test="$id != ''"><rioxxterms:id>https://orcid.org/<xsl:value-of select="$id"/></rioxxterms:id></xsl:if>
  </xsl:template>
</xsl:stylesheet>
